SELECT a.category, count(*) AS n, count(b.bidder) AS bids, max(b.price) AS top
FROM auctions a LEFT JOIN bids b ON a.id = b.auction GROUP BY a.category
