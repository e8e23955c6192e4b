SELECT auction, bidder, channel, count(*) AS n, max(price) AS top FROM bids GROUP BY auction, bidder, channel
