SELECT "Order Id", day + 1 AS next, dayofyear(day) AS nth, CAST(date_trunc('month', day) AS DATE) AS month_start, day = DATE '2024-02-29' AS leap FROM orders WHERE qty IS NOT NULL
