SELECT bidder, max(price) AS top FROM bids GROUP BY bidder HAVING avg(price) > 140 AND bidder <> 'cy'
