-- view: union_all_keeps
-- uses: bids, auctions
-- cut: no
-- says: UNION ALL of two streams keeps every copy.
CREATE MATERIALIZED VIEW union_all_keeps AS
SELECT auction AS id, bidder AS who, 'bid' AS kind FROM bids UNION ALL SELECT id, seller, 'auction' FROM auctions;
