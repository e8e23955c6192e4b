SELECT bidder, count(*) AS n, sum(price) AS total FROM bids GROUP BY bidder
