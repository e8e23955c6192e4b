SELECT count(DISTINCT (auction, bidder)) AS pairs, count(*) AS n FROM bids
