-- view: distinct_decimal_type
-- uses: payments
-- cut: yes
-- run: make golden
-- says: The sum beside a distinct count is of the type that it has alone.
CREATE MATERIALIZED VIEW distinct_decimal_type AS
SELECT card, total, typeof(total) AS kind, currencies
FROM (SELECT card, sum(amount) AS total, count(DISTINCT currency) AS currencies FROM payments GROUP BY card);
