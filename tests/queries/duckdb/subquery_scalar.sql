SELECT auction, bidder, price FROM bids WHERE price > (SELECT avg(price) FROM bids)
