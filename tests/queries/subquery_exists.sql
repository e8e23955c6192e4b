-- view: subquery_exists
-- uses: bids, auctions
-- cut: yes
-- run: make golden
-- says: Auctions for which a bid above the reserve exists.
CREATE MATERIALIZED VIEW subquery_exists AS
SELECT a.id, a.seller FROM auctions a WHERE EXISTS (SELECT 1 FROM bids b WHERE b.auction = a.id AND b.price > a.reserve);
