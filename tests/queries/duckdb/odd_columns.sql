SELECT "Order Id", "Größe" AS "Die Größe", CAST("Unit Price" AS DECIMAL(19,3)) * qty AS "Total Price", qty > 2 AND flag AS "Big?" FROM orders
