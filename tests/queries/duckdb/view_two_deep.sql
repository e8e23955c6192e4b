SELECT auction, max(total) AS best, count(*) AS bidders FROM (SELECT auction, bidder, sum(price) AS total FROM bids GROUP BY auction, bidder) GROUP BY auction
