-- view: odd_rank
-- uses: orders
-- cut: yes
-- says: A ranking by a column with a space, nulls last.
CREATE MATERIALIZED VIEW odd_rank AS
SELECT `Order Id`, rank() OVER (PARTITION BY `Größe` ORDER BY `Unit Price` DESC NULLS LAST) AS `The Place` FROM orders;
