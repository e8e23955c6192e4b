SELECT auction, sum(price) AS total FROM bids GROUP BY auction ORDER BY total DESC, auction LIMIT 2 OFFSET 2
