-- view: odd_dates
-- uses: orders
-- cut: no
-- run: make golden
-- says: Leap days, the turn of the year and null dates.
CREATE MATERIALIZED VIEW odd_dates AS
SELECT `Order Id`, date_add(day, 1) AS next, dayofyear(day) AS nth, trunc(day, 'MM') AS month_start, day = DATE '2024-02-29' AS leap FROM orders WHERE qty IS NOT NULL;
