SELECT channel, count(*) AS bids, sum(price) AS total, min(bidder) AS first_name FROM bids GROUP BY channel
