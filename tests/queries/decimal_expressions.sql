-- view: decimal_expressions
-- uses: payments, rates
-- cut: no
-- run: make golden
-- says: Multiplying, rounding and casting decimals by a table of rates.
CREATE MATERIALIZED VIEW decimal_expressions AS
SELECT p.id, round(p.amount * r.rate, 2) AS euros, abs(p.amount) AS size, CAST(p.amount AS BIGINT) AS whole, sign(p.amount) AS sign FROM payments p LEFT JOIN rates r ON p.currency = r.currency;
