-- view: odd_empty_global
-- uses: orders
-- cut: no
-- says: A global aggregate over no rows is still one row.
CREATE MATERIALIZED VIEW odd_empty_global AS
SELECT count(*) AS n, sum(qty) AS total FROM orders WHERE qty > 1000;
