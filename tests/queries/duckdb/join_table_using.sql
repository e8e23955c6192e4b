SELECT bidder, price, city FROM bids JOIN (SELECT name AS bidder, city FROM people WHERE vip) USING (bidder)
