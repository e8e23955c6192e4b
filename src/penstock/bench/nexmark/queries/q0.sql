-- Pass through: what it costs to read and to deliver.
CREATE MATERIALIZED VIEW q0 AS
SELECT auction, bidder, price, dateTime, extra FROM bid;
