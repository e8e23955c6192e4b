-- Bounded side input: each bid with a value from a table. Published as a lookup as of processing time; the table does not change here.
CREATE MATERIALIZED VIEW q13 AS
SELECT b.auction, b.bidder, b.price, b.dateTime, s.value
FROM bid b JOIN side_input s ON b.auction % 10000 = s.key;
