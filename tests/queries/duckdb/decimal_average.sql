SELECT currency, CAST(sum(amount) / count(amount) AS DECIMAL(16,6)) AS mean FROM payments GROUP BY currency
