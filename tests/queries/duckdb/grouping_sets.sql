SELECT auction, bidder, max(price) AS top FROM bids GROUP BY GROUPING SETS ((auction), (bidder), ())
