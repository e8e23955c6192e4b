SELECT w.seller, w.id, avg(w.final) OVER (
  PARTITION BY w.seller ORDER BY w.dateTime, w.id ROWS BETWEEN 9 PRECEDING AND CURRENT ROW
) AS average
FROM (
  SELECT a.id, a.seller, b.price AS final, b.dateTime,
    row_number() OVER (PARTITION BY a.id, a.seller ORDER BY b.price DESC, b.dateTime, b.bidder) AS place
  FROM auction a JOIN bid b ON a.id = b.auction AND b.dateTime BETWEEN a.dateTime AND a.expires
) w
WHERE w.place <= 1;
