SELECT time_bucket(INTERVAL 30 MINUTES, t) AS since, count(*) AS n
FROM (SELECT bids.at AS t FROM bids UNION ALL SELECT bids.at - INTERVAL 1 HOUR FROM bids) GROUP BY ALL
