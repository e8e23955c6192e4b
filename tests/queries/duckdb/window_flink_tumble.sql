-- windows: w = bids size 10 minutes
SELECT "window"."start" AS window_start, "window"."end" AS window_end, bidder, sum(price) AS total FROM w GROUP BY ALL
