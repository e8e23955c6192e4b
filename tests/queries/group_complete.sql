-- view: group_complete
-- uses: bids
-- cut: no
-- says: EMIT COMPLETE ends with the same content.
CREATE MATERIALIZED VIEW group_complete AS
SELECT bidder, count(*) AS n, sum(price) AS total FROM bids GROUP BY bidder
EMIT COMPLETE;
