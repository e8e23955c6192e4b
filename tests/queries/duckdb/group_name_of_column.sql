SELECT upper(channel) AS bidder, channel, count(*) AS n FROM bids GROUP BY bids.bidder, channel
