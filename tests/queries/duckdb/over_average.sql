SELECT auction, bidder, price, price - avg(price) OVER (PARTITION BY auction) AS above_mean FROM bids
