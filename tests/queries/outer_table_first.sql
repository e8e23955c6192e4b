-- view: outer_table_first
-- uses: bids, people
-- cut: yes
-- run: make golden
-- says: A table on the left of an outer join: people without bids are kept.
CREATE MATERIALIZED VIEW outer_table_first AS
SELECT p.name, p.city, count(b.price) AS n FROM people p LEFT JOIN bids b ON p.name = b.bidder GROUP BY p.name, p.city;
