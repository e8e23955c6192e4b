-- view: subquery_not_in
-- uses: bids, auctions
-- cut: yes
-- run: make golden
-- says: NOT IN over a stream with a null: nothing remains.
CREATE MATERIALIZED VIEW subquery_not_in AS
SELECT bidder, price FROM bids WHERE bidder NOT IN (SELECT seller FROM auctions);
