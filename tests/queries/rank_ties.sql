-- view: rank_ties
-- uses: bids
-- cut: yes
-- says: rank and dense_rank with ties, over a stream.
CREATE MATERIALIZED VIEW rank_ties AS
SELECT auction, bidder, price, rank() OVER (PARTITION BY auction ORDER BY price DESC) AS place, dense_rank() OVER (PARTITION BY auction ORDER BY price DESC) AS step FROM bids;
