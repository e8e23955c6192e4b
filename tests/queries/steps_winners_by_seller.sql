-- view: steps_winners_by_seller
-- uses: auctions, bids
-- cut: yes
-- says: What the winning bids of each seller come to; a winner that is overtaken is taken back.
CREATE MATERIALIZED VIEW steps_winners_by_seller AS
SELECT seller, count(*) AS won, sum(price) AS total
FROM (
  SELECT a.seller, b.price, row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.at, b.bidder) AS place
  FROM auctions a JOIN bids b ON a.id = b.auction
) w WHERE place = 1 GROUP BY seller;
