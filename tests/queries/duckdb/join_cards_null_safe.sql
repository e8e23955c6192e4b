SELECT p.id, c.country FROM payments p JOIN cards c ON p.card IS NOT DISTINCT FROM c.card AND p.amount > 0
