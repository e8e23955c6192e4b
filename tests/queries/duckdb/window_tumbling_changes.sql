-- windows: w = bids size 10 minutes
SELECT "window"."start" AS since, auction, count(*) AS n, sum(price) AS total FROM w GROUP BY ALL
