SELECT DISTINCT n FROM (SELECT auction, count(*) AS n FROM bids GROUP BY auction)
