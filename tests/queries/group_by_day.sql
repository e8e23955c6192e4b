-- view: group_by_day
-- uses: payments
-- cut: no
-- run: make golden
-- says: Totals by day: the last millisecond of a day belongs to it.
CREATE MATERIALIZED VIEW group_by_day AS
SELECT to_date(at) AS day, count(*) AS n, sum(amount) AS total FROM payments GROUP BY to_date(at);
