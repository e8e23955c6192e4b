-- windows: w = bids size 30 minutes
SELECT "window"."end" AS until, p.city, sum(w.price) AS total FROM w JOIN people p ON w.bidder = p.name WHERE "window"."end" <= mark('bids') GROUP BY ALL
