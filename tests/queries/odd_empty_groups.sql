-- view: odd_empty_groups
-- uses: orders
-- cut: no
-- run: make golden
-- says: Groups of no rows are no rows.
CREATE MATERIALIZED VIEW odd_empty_groups AS
SELECT flag, count(*) AS n FROM orders WHERE qty > 1000 GROUP BY flag;
