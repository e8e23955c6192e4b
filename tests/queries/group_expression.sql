-- view: group_expression
-- uses: bids
-- cut: no
-- says: Keys that are expressions, named by the select list.
CREATE MATERIALIZED VIEW group_expression AS
SELECT price DIV 100 AS hundreds, length(bidder) AS letters, count(*) AS n FROM bids GROUP BY price DIV 100, length(bidder);
