-- view: aggregate_guarded_quotient
-- uses: bids
-- cut: no
-- says: A condition guards the division above it, also while the group has nothing to divide by.
CREATE MATERIALIZED VIEW aggregate_guarded_quotient AS
SELECT bidder, total DIV high AS each, CAST(word AS INT) AS number
FROM (SELECT bidder, sum(price) AS total, count_if(price > 150) AS high, if(count_if(price > 150) = 0, 'none', '7') AS word FROM bids GROUP BY bidder)
WHERE high <> 0;
