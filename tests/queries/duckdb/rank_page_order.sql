SELECT visitor, "at", page, lead(page) OVER (PARTITION BY visitor ORDER BY "at", page) AS next FROM visits WHERE visitor IS NOT NULL
