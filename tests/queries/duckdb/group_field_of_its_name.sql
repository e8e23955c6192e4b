SELECT channel, price FROM (
  SELECT channel, price, row_number() OVER (PARTITION BY bidder ORDER BY price DESC NULLS LAST, channel DESC) AS place FROM bids WHERE channel IS NOT NULL
) WHERE place = 1
