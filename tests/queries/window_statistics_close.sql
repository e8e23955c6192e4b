-- view: window_statistics_close
-- uses: readings
-- cut: no
-- run: make golden
-- says: Statistics in closed windows: deviation, first and last by time, a sorted set.
CREATE MATERIALIZED VIEW window_statistics_close AS
SELECT window.start AS since, stddev(temp) AS sd, max_by(battery, struct(at, battery)) AS latest, min_by(device, struct(at, battery)) AS first_device, sort_array(collect_set(room)) AS rooms FROM readings GROUP BY window(at, '20 minutes')
EMIT ON WINDOW CLOSE;
