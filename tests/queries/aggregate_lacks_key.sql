-- view: aggregate_lacks_key
-- uses: bids
-- cut: no
-- says: The select list lacks the key, so equal rows occur twice.
CREATE MATERIALIZED VIEW aggregate_lacks_key AS
SELECT count(*) AS n, max(price) AS top FROM bids GROUP BY auction;
