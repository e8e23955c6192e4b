-- view: distinct_by_sum
-- uses: bids
-- cut: yes
-- run: make golden
-- says: A group that is a sum stands in another sum, where it is no operand: 100 - (a + b) is not 100 - a + b.
CREATE MATERIALIZED VIEW distinct_by_sum AS
SELECT auction, price, auction + price AS total, 100 - auction + price AS rest, count(DISTINCT bidder) AS bidders
FROM bids GROUP BY auction, price, total;
