SELECT auction, channel, sum(price) AS total FROM bids GROUP BY ALL
