-- view: window_flink_tumble_close
-- uses: bids
-- cut: no
-- run: make golden
-- says: Flink's TUMBLE, given out on close.
CREATE MATERIALIZED VIEW window_flink_tumble_close AS
SELECT window_start, window_end, count(*) AS n
FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(at), INTERVAL '15' MINUTES)) GROUP BY window_start, window_end
EMIT ON WINDOW CLOSE;
