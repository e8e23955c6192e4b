SELECT a.id, b.price FROM auctions a JOIN bids b ON a.id = b.auction ORDER BY b.at DESC NULLS LAST, b.price NULLS FIRST, b.bidder NULLS FIRST, a.at NULLS FIRST LIMIT 6
