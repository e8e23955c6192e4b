-- windows: w = auctions size 15 minutes
SELECT "window"."start" AS since, count(*) AS n FROM w JOIN bids b ON w.id = b.auction
WHERE "window"."end" <= least(mark('auctions'), mark('bids')) GROUP BY ALL
