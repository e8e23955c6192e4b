SELECT channel, count(DISTINCT bidder) AS bidders, count(DISTINCT auction) FILTER (WHERE price > 100) AS dear,
  count(DISTINCT CASE WHEN auction IS NOT NULL AND bidder IS NOT NULL THEN (auction, bidder) END) AS pairs,
  sum(DISTINCT price) FILTER (WHERE price < 200) AS cheap, max(price) AS top, count(*) FILTER (WHERE price > 100) AS n
FROM bids GROUP BY channel HAVING count(*) > 1
