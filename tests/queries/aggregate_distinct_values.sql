-- view: aggregate_distinct_values
-- uses: bids
-- cut: yes
-- run: make golden
-- says: DISTINCT over the values of an aggregate.
CREATE MATERIALIZED VIEW aggregate_distinct_values AS
SELECT DISTINCT n FROM (SELECT auction, count(*) AS n FROM bids GROUP BY auction);
