-- view: aggregate_filter_above
-- uses: bids
-- cut: no
-- says: A filter over an aggregate subquery.
CREATE MATERIALIZED VIEW aggregate_filter_above AS
SELECT bidder, total / n AS mean FROM (SELECT bidder, sum(price) AS total, count(*) AS n FROM bids GROUP BY bidder) WHERE total % 20 = 0 OR n > 15;
