-- view: over_difference
-- uses: readings
-- cut: yes
-- run: make golden
-- says: The change since the reading before, and the mean of three.
CREATE MATERIALIZED VIEW over_difference AS
SELECT device, at, temp - lag(temp) OVER w AS change, avg(temp) OVER (PARTITION BY device ORDER BY at, battery, temp, room ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS mean3
FROM readings WHERE device IS NOT NULL AND temp IS NOT NULL AND room IS NOT NULL WINDOW w AS (PARTITION BY device ORDER BY at, battery, temp, room);
