SELECT bidder, sum(price) AS total, 100.0::DOUBLE * sum(price) / sum(sum(price)) OVER () AS percent FROM bids GROUP BY bidder
