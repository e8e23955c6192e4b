SELECT a.id, a.seller, b.bidder, b.price FROM auctions a LEFT JOIN bids b ON a.id = b.auction
