-- view: odd_no_event_time
-- uses: orders
-- cut: no
-- says: A row without event time belongs to no window.
CREATE MATERIALIZED VIEW odd_no_event_time AS
SELECT window.start AS since, count(*) AS n FROM orders GROUP BY window(at, '10 minutes');
