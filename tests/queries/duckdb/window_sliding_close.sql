-- windows: w = bids size 20 minutes step 5 minutes
SELECT "window"."start" AS since, "window"."end" AS until, channel, count(*) AS n, max(price) AS top FROM w WHERE "window"."end" <= mark('bids') GROUP BY ALL
