-- windows: w = bids size 15 minutes
SELECT "window"."start" AS window_start, "window"."end" AS window_end, count(*) AS n FROM w WHERE "window"."end" <= mark('bids') GROUP BY ALL
