SELECT auction, coalesce(channel, 'none') AS via, CASE WHEN price > 200 THEN 'high' WHEN price > 100 THEN 'mid' ELSE 'low' END AS class,
  CASE channel WHEN 'web' THEN 1 WHEN 'app' THEN 2 END AS code, nullif(price, 100) AS not_hundred, -price AS owed, price / 8 AS eighth, price % 7 AS rest
FROM bids
