-- view: sort_limit_aggregate
-- uses: bids
-- cut: yes
-- says: The three busiest bidders.
CREATE MATERIALIZED VIEW sort_limit_aggregate AS
SELECT bidder, count(*) AS n FROM bids GROUP BY bidder ORDER BY n DESC, bidder LIMIT 3;
