-- windows: w = bids size 10 minutes
SELECT "window", count(*) AS n, sum(price) AS total FROM w WHERE "window"."end" <= mark('bids') GROUP BY ALL
