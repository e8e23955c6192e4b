-- windows: w = bids size 10 minutes
SELECT since, auction, n FROM (
  SELECT "window"."start" AS since, auction, count(*) AS n, rank() OVER (PARTITION BY "window"."start" ORDER BY count(*) DESC) AS place FROM w GROUP BY "window"."start", auction
) WHERE place = 1
