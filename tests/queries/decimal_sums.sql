-- view: decimal_sums
-- uses: payments
-- cut: no
-- says: Sums of decimals stay exact, negative ones and null cards included.
CREATE MATERIALIZED VIEW decimal_sums AS
SELECT card, currency, sum(amount) AS total, min(amount) AS low, max(amount) AS high, count(amount) AS n FROM payments GROUP BY card, currency;
