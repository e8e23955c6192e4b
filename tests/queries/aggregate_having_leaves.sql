-- view: aggregate_having_leaves
-- uses: bids
-- cut: no
-- says: A group that grows out of HAVING must leave the result.
CREATE MATERIALIZED VIEW aggregate_having_leaves AS
SELECT auction, count(*) AS n FROM bids GROUP BY auction HAVING count(*) < 8;
