-- view: window_close_filtered
-- uses: readings
-- cut: no
-- says: Rows that a filter drops still move the watermark of their stream.
CREATE MATERIALIZED VIEW window_close_filtered AS
SELECT window.start AS since, device, count(*) AS n FROM readings WHERE room = 'lab' GROUP BY window(at, '10 minutes'), device
EMIT ON WINDOW CLOSE;
