SELECT *
FROM (
  SELECT bid.*, row_number() OVER (PARTITION BY auction ORDER BY price DESC, `dateTime`, extra) AS rank_number FROM bid
)
WHERE rank_number <= 10;
