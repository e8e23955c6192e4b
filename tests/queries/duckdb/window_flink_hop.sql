-- windows: w = bids size 10 minutes step 5 minutes
SELECT "window"."start" AS window_start, "window"."end" AS window_end, count(*) AS n, avg(price) AS mean FROM w GROUP BY ALL
