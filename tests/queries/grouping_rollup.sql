-- view: grouping_rollup
-- uses: bids
-- cut: no
-- says: ROLLUP: a null of the data and a null of the rollup are two rows.
CREATE MATERIALIZED VIEW grouping_rollup AS
SELECT channel, bidder, count(*) AS n, grouping(channel) AS g FROM bids GROUP BY ROLLUP (channel, bidder);
