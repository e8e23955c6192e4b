-- view: window_offset
-- uses: readings
-- cut: no
-- run: make golden
-- says: Hours that begin at a quarter past.
CREATE MATERIALIZED VIEW window_offset AS
SELECT window.start AS since, count(*) AS n FROM readings GROUP BY window(at, '1 hour', '1 hour', '15 minutes');
