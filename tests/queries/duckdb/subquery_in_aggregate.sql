SELECT auction, bidder, price FROM bids WHERE auction IN (SELECT auction FROM bids GROUP BY auction HAVING count(*) <= 6)
