-- view: window_flink_hop
-- uses: bids
-- cut: no
-- run: make golden
-- says: Flink's HOP: the step comes before the size.
CREATE MATERIALIZED VIEW window_flink_hop AS
SELECT window_start, window_end, count(*) AS n, avg(price) AS mean
FROM TABLE(HOP(TABLE bids, DESCRIPTOR(at), INTERVAL '5' MINUTES, INTERVAL '10' MINUTES)) GROUP BY window_start, window_end;
