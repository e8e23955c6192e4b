-- windows: w = readings size 10 minutes
SELECT "window"."start" AS since, "window"."end" AS until, room, count(*) AS n, min(temp) AS low, max(temp) AS high FROM w WHERE "window"."end" <= mark('readings') GROUP BY ALL
