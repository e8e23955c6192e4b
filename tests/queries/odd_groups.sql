-- view: odd_groups
-- uses: orders
-- cut: no
-- says: Groups by an umlaut column: null, the empty string and letter case are three things.
CREATE MATERIALIZED VIEW odd_groups AS
SELECT `Größe`, count(*) AS `How Many`, sum(qty) AS Qty, max(`Unit Price`) AS `Top Price` FROM orders GROUP BY `Größe`;
