SELECT flag, count(*) AS n FROM orders WHERE qty > 1000 GROUP BY flag
