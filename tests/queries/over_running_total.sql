-- view: over_running_total
-- uses: bids
-- cut: yes
-- says: A running total by bidder; rows of one time count together.
CREATE MATERIALIZED VIEW over_running_total AS
SELECT bidder, at, price, sum(price) OVER (PARTITION BY bidder ORDER BY at) AS so_far FROM bids;
