SELECT upper(channel) AS via, bidder, count(*) AS n FROM bids GROUP BY ROLLUP (upper(channel), bidder)
