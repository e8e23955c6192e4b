-- view: group_join_streams
-- uses: bids, auctions
-- cut: no
-- says: An aggregate above an inner join of two streams.
CREATE MATERIALIZED VIEW group_join_streams AS
SELECT a.category, count(*) AS n, avg(b.price) AS mean FROM bids b JOIN auctions a ON b.auction = a.id GROUP BY a.category;
