SELECT a.id, b.bidder, b.at FROM auctions a LEFT JOIN bids b ON a.id = b.auction AND b.at BETWEEN a.at AND a.at + INTERVAL 10 MINUTES
