-- windows: w = readings size 10 minutes
SELECT "window"."start" AS since, "window"."end" AS until, count(*) AS n, avg(temp) AS mean FROM w GROUP BY ALL
