SELECT bidder AS who, channel, count(DISTINCT auction) AS auctions FROM bids GROUP BY bidder, channel
