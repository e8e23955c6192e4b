-- view: distinct_mixed
-- uses: bids
-- cut: yes
-- run: make golden
-- says: Distinct and plain aggregates side by side.
CREATE MATERIALIZED VIEW distinct_mixed AS
SELECT channel, count(*) AS n, count(DISTINCT bidder) AS bidders, sum(DISTINCT price) AS prices, sum(price) AS total FROM bids GROUP BY channel;
