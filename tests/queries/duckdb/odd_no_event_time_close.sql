-- windows: w = orders size 5 minutes
SELECT "window"."end" AS until, count(*) AS n, sum(qty) AS qty FROM w WHERE "window"."end" <= mark('orders') GROUP BY ALL
