SELECT auction, bidder, price, "at" FROM bids ORDER BY price DESC, "at", bidder, auction LIMIT 5
