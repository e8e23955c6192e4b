-- view: grouping_sets
-- uses: bids
-- cut: no
-- says: GROUPING SETS with the empty set.
CREATE MATERIALIZED VIEW grouping_sets AS
SELECT auction, bidder, max(price) AS top FROM bids GROUP BY GROUPING SETS ((auction), (bidder), ());
