SELECT country, sum(amount) AS balance FROM payments JOIN cards USING (card) GROUP BY country HAVING sum(amount) > 0
