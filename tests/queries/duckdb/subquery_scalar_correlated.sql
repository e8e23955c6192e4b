SELECT auction, bidder, price FROM bids b WHERE price > (SELECT avg(price) FROM bids x WHERE x.auction = b.auction)
