-- view: join_limits_cross
-- uses: readings, limits
-- cut: no
-- run: make golden
-- says: A cross join with a small table.
CREATE MATERIALIZED VIEW join_limits_cross AS
SELECT r.device, r.battery, l.room FROM readings r CROSS JOIN limits l WHERE r.battery < 20;
