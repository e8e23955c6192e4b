SELECT a.id, b.auction, b.price FROM auctions a FULL OUTER JOIN bids b ON a.id = b.auction AND b.price >= a.reserve
