-- view: filter_time_range
-- uses: bids
-- cut: no
-- run: make golden
-- says: A filter on event time includes its border.
CREATE MATERIALIZED VIEW filter_time_range AS
SELECT auction, bidder, at FROM bids WHERE at >= TIMESTAMP '2024-03-01 10:10:00' AND at < TIMESTAMP '2024-03-01 10:20:00';
