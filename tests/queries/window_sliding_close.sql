-- view: window_sliding_close
-- uses: bids
-- cut: no
-- says: A sliding window counts a bid in each window that holds it.
CREATE MATERIALIZED VIEW window_sliding_close AS
SELECT window.start AS since, window.end AS until, channel, count(*) AS n, max(price) AS top FROM bids GROUP BY window(at, '20 minutes', '5 minutes'), channel
EMIT ON WINDOW CLOSE;
