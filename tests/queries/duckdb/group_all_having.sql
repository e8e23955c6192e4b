SELECT auction, channel, count(*) AS n, max(price) AS top FROM bids GROUP BY auction, channel HAVING count(*) > 1 AND max(price) < 250
