-- view: over_average
-- uses: bids
-- cut: yes
-- says: Each bid against the mean of its auction.
CREATE MATERIALIZED VIEW over_average AS
SELECT auction, bidder, price, price - avg(price) OVER (PARTITION BY auction) AS above_mean FROM bids;
