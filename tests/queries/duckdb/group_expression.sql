SELECT price // 100 AS hundreds, length(bidder) AS letters, count(*) AS n FROM bids GROUP BY ALL
