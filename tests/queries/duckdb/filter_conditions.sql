SELECT auction, bidder, price, channel FROM bids WHERE (price >= 100 AND channel IS NOT NULL) OR NOT (auction < 200)
