-- windows: w = readings size 20 minutes step 10 minutes
SELECT "window"."end" AS till, count(*) AS n, max(temp) AS warmest FROM w GROUP BY "window" HAVING count(*) < 4
