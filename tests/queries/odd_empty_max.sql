-- view: odd_empty_max
-- uses: orders
-- cut: yes
-- run: make golden
-- says: The maximum over an empty aggregate is one row of null.
CREATE MATERIALIZED VIEW odd_empty_max AS
SELECT max(n) AS most, count(*) AS sizes FROM (SELECT `Größe`, count(*) AS n FROM orders GROUP BY `Größe` HAVING count(*) > 100);
