-- windows: w = bids size 10 minutes
SELECT "window"."start" AS since, bidder, count(*) AS n FROM w WHERE "window"."end" <= mark('bids') GROUP BY ALL HAVING count(*) BETWEEN 1 AND 2
