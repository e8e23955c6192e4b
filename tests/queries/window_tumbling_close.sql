-- view: window_tumbling_close
-- uses: bids
-- cut: no
-- says: Only windows that the watermark has passed.
CREATE MATERIALIZED VIEW window_tumbling_close AS
SELECT window, count(*) AS n, sum(price) AS total FROM bids GROUP BY window(at, '10 minutes')
EMIT ON WINDOW CLOSE;
