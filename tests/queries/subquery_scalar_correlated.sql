-- view: subquery_scalar_correlated
-- uses: bids
-- cut: yes
-- says: Bids above the mean of their own auction.
CREATE MATERIALIZED VIEW subquery_scalar_correlated AS
SELECT auction, bidder, price FROM bids b WHERE price > (SELECT avg(price) FROM bids x WHERE x.auction = b.auction);
