-- view: aggregate_winning_bids
-- uses: bids, auctions
-- cut: yes
-- run: make golden
-- says: The mean final price by category: a join, a maximum, an average.
CREATE MATERIALIZED VIEW aggregate_winning_bids AS
SELECT category, avg(final) AS mean_final, count(*) AS sold FROM (
  SELECT a.id, a.category, max(b.price) AS final FROM auctions a JOIN bids b ON a.id = b.auction AND b.at BETWEEN a.at AND a.expires GROUP BY a.id, a.category
) GROUP BY category;
