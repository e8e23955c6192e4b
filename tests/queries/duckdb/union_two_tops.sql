(SELECT bidder, channel FROM bids GROUP BY bidder, channel ORDER BY count(*) DESC, bidder NULLS FIRST, channel NULLS FIRST LIMIT 3)
UNION ALL
(SELECT bidder, channel FROM bids GROUP BY bidder, channel ORDER BY min(price) NULLS FIRST, bidder NULLS FIRST, channel NULLS FIRST LIMIT 3)
