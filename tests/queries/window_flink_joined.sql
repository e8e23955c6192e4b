-- view: window_flink_joined
-- uses: bids, people
-- cut: no
-- run: make golden
-- says: Flink's TUMBLE joined with a table is a window still, and closes.
CREATE MATERIALIZED VIEW window_flink_joined AS
SELECT window_start, window_time, p.city, sum(price) AS total
FROM TUMBLE(TABLE bids, DESCRIPTOR(at), INTERVAL '30' MINUTES) b LEFT JOIN people p ON b.bidder = p.name AND p.vip GROUP BY ALL
EMIT ON WINDOW CLOSE;
