-- view: join_cards_left
-- uses: payments, cards
-- cut: no
-- says: A left join on a key that may be null: null meets nothing.
CREATE MATERIALIZED VIEW join_cards_left AS
SELECT p.id, p.card, c.country, coalesce(c.holder, 'unknown') AS holder FROM payments p LEFT JOIN cards c ON p.card = c.card;
