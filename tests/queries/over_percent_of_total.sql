-- view: over_percent_of_total
-- uses: bids
-- cut: yes
-- run: make golden
-- says: The share of each bidder in the grand total.
CREATE MATERIALIZED VIEW over_percent_of_total AS
SELECT bidder, sum(price) AS total, 100.0D * sum(price) / sum(sum(price)) OVER () AS percent FROM bids GROUP BY bidder;
