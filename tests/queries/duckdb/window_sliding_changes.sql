-- windows: w = readings size 30 minutes step 10 minutes
SELECT "window"."start" AS since, device, count(*) AS n, sum(battery) AS charge, avg(temp) AS mean FROM w GROUP BY ALL
