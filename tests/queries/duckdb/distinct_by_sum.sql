SELECT auction, price, auction + price AS total, 100 - auction + price AS rest, count(DISTINCT bidder) AS bidders FROM bids GROUP BY auction, price
