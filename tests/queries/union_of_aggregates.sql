-- view: union_of_aggregates
-- uses: bids, auctions
-- cut: yes
-- says: A union of aggregates of two streams.
CREATE MATERIALIZED VIEW union_of_aggregates AS
SELECT 'bids' AS kind, channel AS what, count(*) AS n FROM bids GROUP BY channel UNION ALL SELECT 'auctions', category, count(*) FROM auctions GROUP BY category;
