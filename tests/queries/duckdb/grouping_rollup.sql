SELECT channel, bidder, count(*) AS n, grouping(channel) AS g FROM bids GROUP BY ROLLUP (channel, bidder)
