-- view: outer_right_streams
-- uses: bids, auctions
-- cut: yes
-- run: make golden
-- says: Bids with their auctions, bids on nothing kept.
CREATE MATERIALIZED VIEW outer_right_streams AS
SELECT a.category, b.auction, b.price FROM auctions a RIGHT JOIN bids b ON a.id = b.auction;
