-- view: window_sliding_uneven
-- uses: readings
-- cut: no
-- run: make golden
-- says: A step that does not divide the size.
CREATE MATERIALIZED VIEW window_sliding_uneven AS
SELECT window.start AS since, window.end AS until, count(*) AS n FROM readings GROUP BY window(at, '25 minutes', '10 minutes')
EMIT ON WINDOW CLOSE;
