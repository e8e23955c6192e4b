-- view: over_recent_spend
-- uses: payments
-- cut: yes
-- run: make golden
-- says: What each card spent in the ten minutes up to each payment.
CREATE MATERIALIZED VIEW over_recent_spend AS
SELECT id, card, amount, sum(amount) OVER (PARTITION BY card ORDER BY at RANGE BETWEEN INTERVAL 10 MINUTES PRECEDING AND CURRENT ROW) AS recent FROM payments WHERE card IS NOT NULL;
