SELECT a.id, a.at, count(*) AS bids, max(b.price) AS top FROM auctions a JOIN bids b ON a.id = b.auction AND b.at >= a.at GROUP BY a.id, a.at
