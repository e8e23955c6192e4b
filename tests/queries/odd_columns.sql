-- view: odd_columns
-- uses: orders
-- cut: no
-- says: Column names with capitals, spaces and umlauts, an empty first file.
CREATE MATERIALIZED VIEW odd_columns AS
SELECT `Order Id`, `Größe` AS `Die Größe`, `Unit Price` * qty AS `Total Price`, qty > 2 AND flag AS `Big?` FROM orders;
