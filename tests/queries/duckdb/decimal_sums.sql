SELECT card, currency, sum(amount) AS total, min(amount) AS low, max(amount) AS high, count(amount) AS n FROM payments GROUP BY card, currency
