SELECT "Order Id", rank() OVER (PARTITION BY "Größe" ORDER BY "Unit Price" DESC NULLS LAST) AS "The Place" FROM orders
