SELECT bidder, count(*) AS bid_count, time_bucket(INTERVAL 10 SECOND, dateTime) AS starttime, time_bucket(INTERVAL 10 SECOND, dateTime) + INTERVAL 10 SECOND AS endtime
FROM bid GROUP BY bidder, time_bucket(INTERVAL 10 SECOND, dateTime);
