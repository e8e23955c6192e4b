-- view: join_table_inner
-- uses: bids, people
-- cut: no
-- says: A table with a name twice multiplies the rows it meets.
CREATE MATERIALIZED VIEW join_table_inner AS
SELECT b.auction, b.bidder, b.price, p.city FROM bids b JOIN people p ON b.bidder = p.name;
