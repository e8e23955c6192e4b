SELECT p.id, p.card, c.country, coalesce(c.holder, 'unknown') AS holder FROM payments p LEFT JOIN cards c ON p.card = c.card
