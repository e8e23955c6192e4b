-- view: subquery_not_exists
-- uses: bids, auctions
-- cut: yes
-- run: make golden
-- says: Bids on auctions that were never declared.
CREATE MATERIALIZED VIEW subquery_not_exists AS
SELECT b.auction, b.bidder, b.price FROM bids b WHERE NOT EXISTS (SELECT 1 FROM auctions a WHERE a.id = b.auction);
