-- view: subquery_scalar
-- uses: bids
-- cut: yes
-- says: Bids above the mean of all bids, which moves.
CREATE MATERIALIZED VIEW subquery_scalar AS
SELECT auction, bidder, price FROM bids WHERE price > (SELECT avg(price) FROM bids);
