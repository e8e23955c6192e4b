SELECT a.category, b.auction, b.price FROM auctions a RIGHT JOIN bids b ON a.id = b.auction
