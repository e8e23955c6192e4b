-- view: session_flink_close
-- uses: visits
-- cut: no
-- says: Flink's SESSION with PARTITION BY, on close.
CREATE MATERIALIZED VIEW session_flink_close AS
SELECT window_start, window_end, visitor, count(*) AS n
FROM TABLE(SESSION(TABLE visits PARTITION BY visitor, DESCRIPTOR(at), INTERVAL '5' MINUTES)) GROUP BY window_start, window_end, visitor
EMIT ON WINDOW CLOSE;
