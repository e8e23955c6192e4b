WITH highest AS (
  SELECT max(price) AS price, time_bucket(INTERVAL 10 SECOND, dateTime) AS starttime FROM bid GROUP BY 2
)
SELECT b.auction, b.price, b.bidder, b.dateTime, b.extra
FROM bid b JOIN highest h ON b.price = h.price AND b.dateTime >= h.starttime AND b.dateTime <= h.starttime + INTERVAL 10 SECOND;
