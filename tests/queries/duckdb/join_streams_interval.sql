SELECT a.id, a.category, b.bidder, b.price, b.at FROM auctions a JOIN bids b
  ON a.id = b.auction AND b.at BETWEEN a.at AND a.at + INTERVAL 10 MINUTES
