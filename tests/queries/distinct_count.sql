-- view: distinct_count
-- uses: bids
-- cut: yes
-- says: count(DISTINCT) leaves out null.
CREATE MATERIALIZED VIEW distinct_count AS
SELECT auction, count(DISTINCT bidder) AS bidders, count(DISTINCT channel) AS channels FROM bids GROUP BY auction;
