-- view: subquery_latest
-- uses: readings
-- cut: yes
-- run: make golden
-- says: The readings at the latest time of their device.
CREATE MATERIALIZED VIEW subquery_latest AS
SELECT device, at, temp FROM readings r WHERE at = (SELECT max(at) FROM readings x WHERE x.device = r.device);
