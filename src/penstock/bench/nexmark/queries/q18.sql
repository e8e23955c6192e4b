-- The last bid of each bidder on each auction. Of bids of one moment the highest, then the last by its text: published without either.
CREATE MATERIALIZED VIEW q18 AS
SELECT auction, bidder, price, channel, url, dateTime, extra
FROM (
  SELECT *, row_number() OVER (PARTITION BY bidder, auction ORDER BY dateTime DESC, price DESC, extra DESC) AS rank_number FROM bid
)
WHERE rank_number <= 1;
