SELECT b.auction, b.price, b.bidder
FROM bids b JOIN (
  SELECT time_bucket(INTERVAL 10 MINUTES, "at") + INTERVAL 10 MINUTES AS till, max(price) AS top FROM bids WHERE "at" IS NOT NULL GROUP BY 1
) m ON b.price = m.top
WHERE b."at" >= m.till - INTERVAL 10 MINUTES AND b."at" < m.till
