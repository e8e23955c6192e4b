-- view: join_limits_range
-- uses: readings, limits
-- cut: no
-- run: make golden
-- says: A table joined by a range: readings out of bounds.
CREATE MATERIALIZED VIEW join_limits_range AS
SELECT r.device, r.room, r.temp, l.low, l.high FROM readings r JOIN limits l ON r.room = l.room AND (r.temp < l.low OR r.temp > l.high);
