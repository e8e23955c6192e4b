SELECT auction, channel, sum(price) AS total, grouping_id(auction, channel) AS gid FROM bids GROUP BY CUBE (auction, channel)
