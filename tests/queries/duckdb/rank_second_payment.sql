SELECT card, id, amount FROM (SELECT card, id, amount, row_number() OVER (PARTITION BY card ORDER BY "at", id) AS nth FROM payments) WHERE nth = 2
