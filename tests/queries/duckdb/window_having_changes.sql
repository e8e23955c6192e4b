-- windows: w = readings size 10 minutes
SELECT "window"."start" AS since, count(*) AS n FROM w GROUP BY ALL HAVING count(*) <= 4
