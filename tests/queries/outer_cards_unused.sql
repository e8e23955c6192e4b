-- view: outer_cards_unused
-- uses: payments, cards
-- cut: yes
-- run: make golden
-- says: Cards without a payment, from a table on the left.
CREATE MATERIALIZED VIEW outer_cards_unused AS
SELECT c.card, c.holder FROM cards c LEFT ANTI JOIN payments p ON c.card = p.card;
