-- view: decimal_average
-- uses: payments
-- cut: no
-- run: make golden
-- says: The mean of a decimal is a decimal with four more digits.
CREATE MATERIALIZED VIEW decimal_average AS
SELECT currency, avg(amount) AS mean FROM payments GROUP BY currency;
