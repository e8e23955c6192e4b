SELECT auction, n, dense_rank() OVER (ORDER BY n DESC) AS place FROM (SELECT auction, count(*) AS n FROM bids GROUP BY auction)
