SELECT channel, bidder, count(*) AS n FROM bids GROUP BY channel, bidder
UNION ALL SELECT channel, NULL, count(*) FROM bids GROUP BY channel
UNION ALL SELECT channel, NULL, count(*) FROM bids GROUP BY channel
