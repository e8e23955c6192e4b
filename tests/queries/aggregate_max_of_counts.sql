-- view: aggregate_max_of_counts
-- uses: bids
-- cut: yes
-- says: The largest of the counts, and how many share it.
CREATE MATERIALIZED VIEW aggregate_max_of_counts AS
SELECT max(n) AS most, min(n) AS least, count(*) AS auctions FROM (SELECT auction, count(*) AS n FROM bids GROUP BY auction);
