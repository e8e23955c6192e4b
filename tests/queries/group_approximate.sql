-- view: group_approximate
-- uses: readings
-- cut: no
-- run: make golden
-- says: Approximate aggregates are exact on little data.
CREATE MATERIALIZED VIEW group_approximate AS
SELECT room, approx_count_distinct(device) AS devices, percentile_approx(battery, 0.5) AS median, percentile(battery, 0.25) AS quarter FROM readings GROUP BY room;
