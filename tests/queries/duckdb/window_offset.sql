-- windows: w = readings size 60 minutes offset 15 minutes
SELECT "window"."start" AS since, count(*) AS n FROM w GROUP BY ALL
