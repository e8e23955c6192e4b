SELECT channel, count(*) AS n, count(DISTINCT bidder) AS bidders, sum(DISTINCT price) AS prices, sum(price) AS total FROM bids GROUP BY channel
