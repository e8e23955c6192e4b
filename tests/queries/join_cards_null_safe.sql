-- view: join_cards_null_safe
-- uses: payments, cards
-- cut: no
-- run: make golden
-- says: A null-safe join condition.
CREATE MATERIALIZED VIEW join_cards_null_safe AS
SELECT p.id, c.country FROM payments p JOIN cards c ON p.card <=> c.card AND p.amount > 0;
