-- view: window_of_windows
-- uses: readings
-- cut: yes
-- says: Hours made of ten-minute windows.
CREATE MATERIALIZED VIEW window_of_windows AS
SELECT window.start AS hour_start, count(*) AS slots, max(n) AS busiest
FROM (SELECT window.start AS since, count(*) AS n FROM readings GROUP BY window(at, '10 minutes')) GROUP BY window(since, '1 hour');
