-- view: union_distinct
-- uses: bids, auctions
-- cut: no
-- run: make golden
-- says: UNION gives each row once, null included.
CREATE MATERIALIZED VIEW union_distinct AS
SELECT bidder AS who FROM bids UNION SELECT seller FROM auctions;
