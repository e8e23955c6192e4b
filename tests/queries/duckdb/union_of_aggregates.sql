SELECT 'bids' AS kind, channel AS what, count(*) AS n FROM bids GROUP BY channel UNION ALL SELECT 'auctions', category, count(*) FROM auctions GROUP BY category
