-- view: steps_not_in
-- uses: bids, auctions
-- cut: yes
-- run: make golden
-- says: Bids of those who sell no car; they go when their bidder begins to.
CREATE MATERIALIZED VIEW steps_not_in AS
SELECT bidder, price FROM bids WHERE bidder NOT IN (SELECT seller FROM auctions WHERE category = 'cars');
