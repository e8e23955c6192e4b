-- view: self_aggregate_cte
-- uses: bids
-- cut: yes
-- says: The same aggregate twice by WITH: bidders with equal counts.
CREATE MATERIALIZED VIEW self_aggregate_cte AS
WITH counts AS (SELECT bidder, count(*) AS n FROM bids GROUP BY bidder)
SELECT a.bidder AS one, b.bidder AS other, a.n - b.n AS lead FROM counts a JOIN counts b ON a.n >= b.n AND a.bidder <> b.bidder;
