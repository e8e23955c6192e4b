SELECT a.id, a.seller FROM auctions a WHERE EXISTS (SELECT 1 FROM bids b WHERE b.auction = a.id AND b.price > a.reserve)
