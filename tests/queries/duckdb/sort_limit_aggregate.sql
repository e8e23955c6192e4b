SELECT bidder, count(*) AS n FROM bids GROUP BY bidder ORDER BY n DESC, bidder LIMIT 3
