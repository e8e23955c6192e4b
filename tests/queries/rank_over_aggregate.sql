-- view: rank_over_aggregate
-- uses: bids
-- cut: yes
-- says: rank over an aggregate in one SELECT.
CREATE MATERIALIZED VIEW rank_over_aggregate AS
SELECT bidder, sum(price) AS total, rank() OVER (ORDER BY sum(price) DESC) AS place FROM bids GROUP BY bidder;
