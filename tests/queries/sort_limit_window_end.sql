-- view: sort_limit_window_end
-- uses: bids
-- cut: yes
-- run: make golden
-- says: Sorted by the end of the window, though a column of the result is called end too.
CREATE MATERIALIZED VIEW sort_limit_window_end AS
SELECT window, channel, min(price) AS start, max(price) AS end FROM bids GROUP BY window(at, '10 minutes'), channel ORDER BY window.end DESC, channel LIMIT 5;
