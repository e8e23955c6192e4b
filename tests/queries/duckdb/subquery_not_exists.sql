SELECT b.auction, b.bidder, b.price FROM bids b WHERE NOT EXISTS (SELECT 1 FROM auctions a WHERE a.id = b.auction)
