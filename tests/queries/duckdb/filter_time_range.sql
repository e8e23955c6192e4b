SELECT auction, bidder, "at" FROM bids WHERE "at" >= TIMESTAMP '2024-03-01 10:10:00' AND "at" < TIMESTAMP '2024-03-01 10:20:00'
