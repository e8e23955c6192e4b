SELECT CAST("at" AS DATE) AS day, currency, sum(amount) AS total, count(*) AS n FROM payments GROUP BY ROLLUP (CAST("at" AS DATE), currency)
