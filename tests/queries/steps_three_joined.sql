-- view: steps_three_joined
-- uses: auctions, bids
-- cut: yes
-- run: make golden
-- says: Three joined by two keys: what the bidders of an auction sell themselves.
CREATE MATERIALIZED VIEW steps_three_joined AS
SELECT a.id, b.bidder, o.id AS own
FROM auctions a LEFT JOIN bids b ON a.id = b.auction LEFT JOIN auctions o ON o.seller = b.bidder;
