SELECT auction, bidder, price FROM bids WHERE bidder NOT IN (SELECT name FROM people)
