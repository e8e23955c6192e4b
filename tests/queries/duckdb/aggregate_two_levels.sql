SELECT channels, count(*) AS bidders, avg(total) AS mean_total
FROM (SELECT bidder, count(channel) % 3 AS channels, sum(price) AS total FROM bids GROUP BY bidder) GROUP BY channels
