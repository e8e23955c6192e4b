SELECT max(n) AS most, count(*) AS sizes FROM (SELECT "Größe", count(*) AS n FROM orders GROUP BY "Größe" HAVING count(*) > 100)
