-- view: outer_left_streams
-- uses: bids, auctions
-- cut: yes
-- says: Auctions with their bids, those without any kept.
CREATE MATERIALIZED VIEW outer_left_streams AS
SELECT a.id, a.seller, b.bidder, b.price FROM auctions a LEFT JOIN bids b ON a.id = b.auction;
