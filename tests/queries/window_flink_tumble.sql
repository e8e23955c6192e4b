-- view: window_flink_tumble
-- uses: bids
-- cut: no
-- says: Flink's TUMBLE with window_start and window_end.
CREATE MATERIALIZED VIEW window_flink_tumble AS
SELECT window_start, window_end, bidder, sum(price) AS total
FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(at), INTERVAL '10' MINUTES)) GROUP BY window_start, window_end, bidder;
