SELECT bidder, "at", price, sum(price) OVER (PARTITION BY bidder ORDER BY "at") AS so_far FROM bids
