-- view: outer_full_streams
-- uses: bids, auctions
-- cut: yes
-- says: Everything from both sides, with a condition that misses some.
CREATE MATERIALIZED VIEW outer_full_streams AS
SELECT a.id, b.auction, b.price FROM auctions a FULL OUTER JOIN bids b ON a.id = b.auction AND b.price >= a.reserve;
