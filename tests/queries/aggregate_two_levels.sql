-- view: aggregate_two_levels
-- uses: bids
-- cut: yes
-- says: The mean of each bidder's total, by the number of channels.
CREATE MATERIALIZED VIEW aggregate_two_levels AS
SELECT channels, count(*) AS bidders, avg(total) AS mean_total
FROM (SELECT bidder, count(channel) % 3 AS channels, sum(price) AS total FROM bids GROUP BY bidder) GROUP BY channels;
