-- view: join_table_using
-- uses: bids, people
-- cut: no
-- run: make golden
-- says: A join with a subquery of a table by USING gives the key once.
CREATE MATERIALIZED VIEW join_table_using AS
SELECT bidder, price, city FROM bids JOIN (SELECT name AS bidder, city FROM people WHERE vip) USING (bidder);
