-- Temperatures of ten sensors from the embedded generator. Replace the WITH (...) by your own source when you have one,
-- or add rows_per_second = '200' to let them come slowly.
CREATE STREAM readings (
  sensor STRING, celsius DOUBLE, at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL 5 SECONDS
) WITH (
  connector = 'generator', rows = '20000', keys = '10', disorder = '2 seconds',
  start = '2026-01-01T00:00:00Z', step = '200 milliseconds',
  sensor = 'concat(''s'', key)', celsius = 'round(15 + 10 * r1, 2)'
);

-- The mean of each sensor in every minute.
CREATE MATERIALIZED VIEW per_minute AS
  SELECT window.start AS minute, sensor, round(avg(celsius), 2) AS mean, count(*) AS readings
  FROM readings
  GROUP BY window(at, '1 minute'), sensor
  EMIT CHANGES;

-- The three hottest sensors of all time.
CREATE MATERIALIZED VIEW hottest AS
  SELECT sensor, max(celsius) AS celsius
  FROM readings
  GROUP BY sensor
  ORDER BY celsius DESC, sensor
  LIMIT 3;
