SELECT a.id, b.price, b.price - a.reserve AS over_reserve FROM auctions a JOIN bids b ON a.id = b.auction AND b.price >= a.reserve
WHERE a.category = 'art' AND b.channel = 'web'
