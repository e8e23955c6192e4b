SELECT CAST("at" AS DATE) AS day, count(*) AS n, sum(amount) AS total FROM payments GROUP BY 1
