-- view: filter_conditions
-- uses: bids
-- cut: no
-- run: make golden
-- says: A filter with AND, OR, NOT and a test for null keeps exact duplicates.
CREATE MATERIALIZED VIEW filter_conditions AS
SELECT auction, bidder, price, channel FROM bids WHERE (price >= 100 AND channel IS NOT NULL) OR NOT (auction < 200);
