SELECT auction, count(*) AS n FROM bids GROUP BY auction HAVING count(*) < 8
