SELECT 2024 AS year, 3 AS version, channel, count(*) AS n FROM bids GROUP BY channel
