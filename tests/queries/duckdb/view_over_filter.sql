SELECT auction, count(*) AS n FROM bids WHERE price > 100 GROUP BY auction
