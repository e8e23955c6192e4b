-- view: grouping_ordinals
-- uses: bids
-- cut: no
-- run: make golden
-- says: ROLLUP over ordinals, one of them an expression.
CREATE MATERIALIZED VIEW grouping_ordinals AS
SELECT upper(channel) AS via, bidder, count(*) AS n FROM bids GROUP BY 1, 2 WITH ROLLUP;
