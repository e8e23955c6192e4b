-- view: aggregate_big_spenders
-- uses: payments, cards
-- cut: no
-- run: make golden
-- says: Countries whose balance is positive: refunds make them leave.
CREATE MATERIALIZED VIEW aggregate_big_spenders AS
SELECT country, sum(amount) AS balance FROM payments JOIN cards USING (card) GROUP BY country HAVING sum(amount) > 0;
