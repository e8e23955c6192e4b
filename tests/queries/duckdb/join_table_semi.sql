SELECT auction, bidder, price FROM bids WHERE bidder IN (SELECT name FROM people)
