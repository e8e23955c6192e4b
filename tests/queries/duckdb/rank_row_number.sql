SELECT auction, bidder, price, "at" FROM (
  SELECT *, row_number() OVER (PARTITION BY auction ORDER BY "at" DESC, price DESC, bidder) AS place FROM bids) WHERE place = 1
