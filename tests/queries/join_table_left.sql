-- view: join_table_left
-- uses: bids, people
-- cut: no
-- says: A left join with a table keeps what finds no partner.
CREATE MATERIALIZED VIEW join_table_left AS
SELECT b.auction, b.bidder, p.city, p.vip FROM bids AS b LEFT JOIN people AS p ON b.bidder = p.name AND p.vip;
