-- view: date_parts
-- uses: payments
-- cut: no
-- run: make golden
-- says: Parts of dates and times across midnight and into the next month.
CREATE MATERIALIZED VIEW date_parts AS
SELECT id, year(at) AS y, month(at) AS m, day(at) AS d, hour(at) AS h, date_format(at, 'yyyy/MM/dd HH:mm') AS text, to_date(at) AS day, datediff(to_date(at), DATE '2024-02-28') AS days, date_trunc('HOUR', at) AS hour_start, last_day(to_date(at)) AS month_end FROM payments;
