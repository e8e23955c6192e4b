-- view: distinct_pairs
-- uses: bids
-- cut: no
-- run: make golden
-- says: DISTINCT over two columns counts null as a value.
CREATE MATERIALIZED VIEW distinct_pairs AS
SELECT DISTINCT auction, channel FROM bids;
