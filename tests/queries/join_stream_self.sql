-- view: join_stream_self
-- uses: bids
-- cut: no
-- says: A stream joined with itself: who outbid whom within two minutes.
CREATE MATERIALIZED VIEW join_stream_self AS
SELECT early.auction, early.bidder AS was, late.bidder AS now, late.price - early.price AS by_how_much
FROM bids early JOIN bids late ON early.auction = late.auction AND early.price < late.price AND early.bidder <> late.bidder
  AND late.at >= early.at AND late.at <= early.at + INTERVAL 2 MINUTES;
