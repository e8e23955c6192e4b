-- windows: w = readings size 25 minutes step 10 minutes
SELECT "window"."start" AS since, "window"."end" AS until, count(*) AS n FROM w WHERE "window"."end" <= mark('readings') GROUP BY ALL
