-- view: rank_row_number
-- uses: bids
-- cut: yes
-- says: The latest bid of each auction by row_number.
CREATE MATERIALIZED VIEW rank_row_number AS
SELECT auction, bidder, price, at FROM (
  SELECT *, row_number() OVER (PARTITION BY auction ORDER BY at DESC, price DESC, bidder) AS place FROM bids) WHERE place = 1;
