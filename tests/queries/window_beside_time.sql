-- view: window_beside_time
-- uses: bids
-- cut: no
-- run: make golden
-- says: Grouped by a window and by the very time that it is over.
CREATE MATERIALIZED VIEW window_beside_time AS
SELECT window.start AS since, at, count(*) AS n, sum(price) AS total FROM bids GROUP BY window(at, '30 minutes'), at;
