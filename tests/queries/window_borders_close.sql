-- view: window_borders_close
-- uses: readings
-- cut: no
-- says: A window whose end is exactly the watermark is closed, the next is not.
CREATE MATERIALIZED VIEW window_borders_close AS
SELECT window.start AS since, window.end AS until, room, count(*) AS n, min(temp) AS low, max(temp) AS high FROM readings GROUP BY window(at, '10 minutes'), room
EMIT ON WINDOW CLOSE;
