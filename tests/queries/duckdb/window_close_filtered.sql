-- windows: w = readings size 10 minutes
SELECT "window"."start" AS since, device, count(*) AS n FROM w WHERE room = 'lab' AND "window"."end" <= mark('readings') GROUP BY ALL
