SELECT card, id, sum(amount) OVER (PARTITION BY card ORDER BY "at", id, amount ROWS UNBOUNDED PRECEDING) AS balance FROM payments WHERE id <> 'p51'
