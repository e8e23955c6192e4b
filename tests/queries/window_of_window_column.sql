-- view: window_of_window_column
-- uses: bids
-- cut: yes
-- run: make golden
-- says: Half hours made of ten-minute windows as Spark writes them, by the window itself and not by its start.
CREATE MATERIALIZED VIEW window_of_window_column AS
SELECT window(window, '30 minutes') AS half, max(window_time(window)) AS latest, sum(n) AS bids
FROM (SELECT window, count(*) AS n FROM bids GROUP BY window(at, '10 minutes')) GROUP BY window(window, '30 minutes');
