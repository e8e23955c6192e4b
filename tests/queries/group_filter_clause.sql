-- view: group_filter_clause
-- uses: bids
-- cut: no
-- says: Aggregates with FILTER, and count_if beside them.
CREATE MATERIALIZED VIEW group_filter_clause AS
SELECT auction, count(*) FILTER (WHERE channel = 'web') AS web, sum(price) FILTER (WHERE price > 150) AS big, count_if(channel IS NULL) AS unknown FROM bids GROUP BY auction;
