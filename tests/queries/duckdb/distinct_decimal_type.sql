SELECT card, sum(amount) AS total, 'decimal(22,2)' AS kind, count(DISTINCT currency) AS currencies FROM payments GROUP BY card
