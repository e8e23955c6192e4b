-- windows: w = bids size 30 minutes
SELECT "window"."start" AS since, w.at, count(*) AS n, sum(price) AS total FROM w GROUP BY ALL
