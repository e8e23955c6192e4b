SELECT count(*) AS n, sum(qty) AS total FROM orders WHERE qty > 1000
