-- windows: w = bids size 10 minutes
SELECT {'start': since, 'end': since + INTERVAL 30 MINUTES} AS half, max(latest) AS latest, sum(n) AS bids
FROM (SELECT time_bucket(INTERVAL 30 MINUTES, "window"."start") AS since, "window"."end" - INTERVAL 1 MICROSECOND AS latest, count(*) AS n FROM w GROUP BY "window")
GROUP BY since
