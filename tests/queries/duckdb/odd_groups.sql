SELECT "Größe", count(*) AS "How Many", sum(qty) AS "Qty", max("Unit Price") AS "Top Price" FROM orders GROUP BY "Größe"
