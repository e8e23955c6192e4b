SELECT a.id, b.bidder, o.id AS own
FROM auctions a LEFT JOIN bids b ON a.id = b.auction LEFT JOIN auctions o ON o.seller = b.bidder
