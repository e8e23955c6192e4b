SELECT upper(bidder) AS name, coalesce(channel, '-') AS via, avg(price) AS mean FROM bids GROUP BY 1, 2
