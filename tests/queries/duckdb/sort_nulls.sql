SELECT channel, max(price) AS top FROM bids GROUP BY channel ORDER BY channel NULLS FIRST LIMIT 2
