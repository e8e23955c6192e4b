-- windows: w = readings size 10 minutes
SELECT date_trunc('hour', since) AS hour_start, count(*) AS slots, max(n) AS busiest FROM (SELECT "window"."start" AS since, count(*) AS n FROM w GROUP BY ALL) GROUP BY 1
