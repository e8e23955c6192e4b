SELECT b.auction, b.price, b.bidder, b.`dateTime`, b.extra
FROM bid b JOIN (
  SELECT max(price) AS maxprice, window_end AS `dateTime`
  FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
  GROUP BY window_start, window_end
) m ON b.price = m.maxprice
WHERE b.`dateTime` BETWEEN m.`dateTime` - INTERVAL '10' SECOND AND m.`dateTime`;
