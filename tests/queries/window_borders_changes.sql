-- view: window_borders_changes
-- uses: readings
-- cut: no
-- says: Readings on the border of two windows, hours of silence between files.
CREATE MATERIALIZED VIEW window_borders_changes AS
SELECT window.start AS since, window.end AS until, count(*) AS n, avg(temp) AS mean FROM readings GROUP BY window(at, '10 minutes');
