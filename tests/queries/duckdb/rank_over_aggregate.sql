SELECT bidder, sum(price) AS total, rank() OVER (ORDER BY sum(price) DESC) AS place FROM bids GROUP BY bidder
