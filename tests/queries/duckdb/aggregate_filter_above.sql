SELECT bidder, total / n AS mean FROM (SELECT bidder, sum(price) AS total, count(*) AS n FROM bids GROUP BY bidder) WHERE total % 20 = 0 OR n > 15
