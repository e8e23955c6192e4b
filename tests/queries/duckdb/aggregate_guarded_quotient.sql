SELECT bidder, total // high AS each, 7 AS number FROM (SELECT bidder, sum(price) AS total, count(*) FILTER (price > 150) AS high FROM bids GROUP BY bidder) WHERE high <> 0
