-- view: steps_left_join_total
-- uses: auctions, bids
-- cut: yes
-- says: An aggregate over a left join: an auction without bids counts until its first one comes.
CREATE MATERIALIZED VIEW steps_left_join_total AS
SELECT a.category, count(*) AS n, count(b.bidder) AS bids, max(b.price) AS top
FROM auctions a LEFT JOIN bids b ON a.id = b.auction GROUP BY a.category;
