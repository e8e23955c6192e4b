-- view: group_all_null
-- uses: readings
-- cut: no
-- run: make golden
-- says: Aggregates over nothing but nulls are null, counts are zero.
CREATE MATERIALIZED VIEW group_all_null AS
SELECT device, sum(temp) AS total, avg(temp) AS mean, count(temp) AS n, bool_or(temp > 30) AS hot FROM readings WHERE temp IS NULL OR temp > 90 GROUP BY device;
