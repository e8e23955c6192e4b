-- view: sort_limit_join
-- uses: bids, auctions
-- cut: yes
-- run: make golden
-- says: The latest bids of a join, by a column that is not selected.
CREATE MATERIALIZED VIEW sort_limit_join AS
SELECT a.id, b.price FROM auctions a JOIN bids b ON a.id = b.auction ORDER BY b.at DESC, b.price, b.bidder, a.at LIMIT 6;
