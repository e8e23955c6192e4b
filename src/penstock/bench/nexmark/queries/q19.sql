-- The ten highest bids of each auction. Of equal bids the earlier one, then the first by its text: published without either.
CREATE MATERIALIZED VIEW q19 AS
SELECT *
FROM (
  SELECT *, row_number() OVER (PARTITION BY auction ORDER BY price DESC, dateTime, extra) AS rank_number FROM bid
)
WHERE rank_number <= 10;
