-- view: date_arithmetic
-- uses: payments
-- cut: no
-- says: Intervals added to times, and times as numbers.
CREATE MATERIALIZED VIEW date_arithmetic AS
SELECT id, at + INTERVAL 1 DAY AS tomorrow, at - INTERVAL '90' MINUTE AS earlier, unix_timestamp(at) AS seconds, unix_millis(at) AS millis, add_months(to_date(at), -1) AS last_month FROM payments;
