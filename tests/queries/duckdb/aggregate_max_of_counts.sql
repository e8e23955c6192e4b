SELECT max(n) AS most, min(n) AS least, count(*) AS auctions FROM (SELECT auction, count(*) AS n FROM bids GROUP BY auction)
