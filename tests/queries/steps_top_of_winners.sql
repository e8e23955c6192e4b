-- view: steps_top_of_winners
-- uses: bids
-- cut: yes
-- says: The highest three of the winning bids; one that is overtaken makes room.
CREATE MATERIALIZED VIEW steps_top_of_winners AS
SELECT auction, bidder, price
FROM (SELECT auction, bidder, price, row_number() OVER (PARTITION BY auction ORDER BY price DESC, at, bidder) AS place FROM bids) w
WHERE place = 1 ORDER BY price DESC, auction LIMIT 3;
