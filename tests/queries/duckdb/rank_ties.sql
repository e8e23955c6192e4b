SELECT auction, bidder, price, rank() OVER (PARTITION BY auction ORDER BY price DESC) AS place, dense_rank() OVER (PARTITION BY auction ORDER BY price DESC) AS step FROM bids
