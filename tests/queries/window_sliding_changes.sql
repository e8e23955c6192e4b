-- view: window_sliding_changes
-- uses: readings
-- cut: no
-- says: A sliding window as it grows: half an hour every ten minutes.
CREATE MATERIALIZED VIEW window_sliding_changes AS
SELECT window.start AS since, device, count(*) AS n, sum(battery) AS charge, avg(temp) AS mean FROM readings GROUP BY window(at, '30 minutes', '10 minutes'), device;
