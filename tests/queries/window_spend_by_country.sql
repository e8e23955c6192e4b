-- view: window_spend_by_country
-- uses: payments, cards
-- cut: no
-- says: Spend by country over the last hour every ten minutes, on close.
CREATE MATERIALIZED VIEW window_spend_by_country AS
SELECT window, country, sum(amount) AS total FROM payments JOIN cards USING (card) GROUP BY window(at, '1 hour', '10 minutes'), country
EMIT ON WINDOW CLOSE;
