-- view: rank_second_payment
-- uses: payments
-- cut: yes
-- run: make golden
-- says: The second payment of each card.
CREATE MATERIALIZED VIEW rank_second_payment AS
SELECT card, id, amount FROM (SELECT card, id, amount, row_number() OVER (PARTITION BY card ORDER BY at, id) AS nth FROM payments) WHERE nth = 2;
