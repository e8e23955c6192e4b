SELECT auction, count(DISTINCT bidder) AS bidders, count(DISTINCT channel) AS channels FROM bids GROUP BY auction
