SELECT q.category, avg(CAST(q.`final` AS DOUBLE)) AS average
FROM (
  SELECT max(b.price) AS `final`, a.category
  FROM auction a JOIN bid b ON a.id = b.auction AND b.`dateTime` BETWEEN a.`dateTime` AND a.expires
  GROUP BY a.id, a.category
) q
GROUP BY q.category;
