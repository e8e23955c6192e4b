SELECT auction, count(*) FILTER (WHERE channel = 'web') AS web, sum(price) FILTER (WHERE price > 150) AS big, count_if(channel IS NULL) AS unknown FROM bids GROUP BY auction
