WITH counts AS (
  SELECT b.auction, count(*) AS num, w.starttime, w.starttime + INTERVAL 10 SECOND AS endtime
  FROM bid b, LATERAL (SELECT time_bucket(INTERVAL 2 SECOND, b.dateTime) - to_seconds(2 * k) AS starttime FROM range(5) r(k)) w
  GROUP BY b.auction, w.starttime
)
SELECT auction, num, starttime, endtime FROM counts QUALIFY rank() OVER (PARTITION BY starttime ORDER BY num DESC) = 1;
