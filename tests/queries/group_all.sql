-- view: group_all
-- uses: bids
-- cut: no
-- says: GROUP BY ALL takes every column that is not an aggregate.
CREATE MATERIALIZED VIEW group_all AS
SELECT auction, channel, sum(price) AS total FROM bids GROUP BY ALL;
