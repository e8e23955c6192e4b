-- view: odd_no_event_time_close
-- uses: orders
-- cut: no
-- says: A row without event time neither closes a window nor holds one open.
CREATE MATERIALIZED VIEW odd_no_event_time_close AS
SELECT window.end AS until, count(*) AS n, sum(qty) AS qty FROM orders GROUP BY window(at, '5 minutes')
EMIT ON WINDOW CLOSE;
