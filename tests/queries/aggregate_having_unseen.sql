-- view: aggregate_having_unseen
-- uses: bids
-- cut: no
-- says: HAVING on an aggregate that is not selected.
CREATE MATERIALIZED VIEW aggregate_having_unseen AS
SELECT bidder, max(price) AS top FROM bids GROUP BY bidder HAVING avg(price) > 140 AND bidder <> 'cy';
