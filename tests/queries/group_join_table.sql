-- view: group_join_table
-- uses: bids, people
-- cut: no
-- says: An aggregate above a left join with a table that has a name twice.
CREATE MATERIALIZED VIEW group_join_table AS
SELECT p.city, count(*) AS n, sum(b.price) AS total FROM bids b LEFT JOIN people p ON b.bidder = p.name GROUP BY p.city;
