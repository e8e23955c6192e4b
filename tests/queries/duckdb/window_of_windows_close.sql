-- windows: w = bids size 10 minutes
SELECT since, count(*) AS slots, sum(n) AS bids
FROM (SELECT time_bucket(INTERVAL 30 MINUTES, "window"."start") AS since, count(*) AS n FROM w WHERE "window"."end" <= mark('bids') GROUP BY "window")
WHERE since + INTERVAL 30 MINUTES <= mark('bids') GROUP BY since
