SELECT bidder, price FROM bids WHERE bidder NOT IN (SELECT seller FROM auctions WHERE category = 'cars')
