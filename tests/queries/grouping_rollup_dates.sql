-- view: grouping_rollup_dates
-- uses: payments
-- cut: no
-- run: make golden
-- says: A rollup of day and currency with a decimal.
CREATE MATERIALIZED VIEW grouping_rollup_dates AS
SELECT to_date(at) AS day, currency, sum(amount) AS total, count(*) AS n FROM payments GROUP BY ROLLUP (to_date(at), currency);
