-- view: steps_winners_but_sellers
-- uses: bids, auctions
-- cut: yes
-- run: make golden
-- says: Winners once for each auction that they lead, but for one each time that they sell.
CREATE MATERIALIZED VIEW steps_winners_but_sellers AS
SELECT bidder FROM (SELECT bidder, row_number() OVER (PARTITION BY auction ORDER BY price DESC, at, bidder) AS place FROM bids) w WHERE place = 1
EXCEPT ALL
SELECT seller FROM auctions;
