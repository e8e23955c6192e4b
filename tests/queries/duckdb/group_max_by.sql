SELECT auction, arg_max(bidder, row(price, bidder, "at")) AS leader, arg_min(price, row("at", price)) AS opening FROM bids GROUP BY auction
