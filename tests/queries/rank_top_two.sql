-- view: rank_top_two
-- uses: bids
-- cut: yes
-- run: make golden
-- says: The two highest totals of each auction.
CREATE MATERIALIZED VIEW rank_top_two AS
SELECT auction, bidder, total, place FROM (
  SELECT auction, bidder, sum(price) AS total, row_number() OVER (PARTITION BY auction ORDER BY sum(price) DESC, bidder) AS place FROM bids GROUP BY auction, bidder
) WHERE place <= 2;
