-- Levels of water tanks, one reading a minute from each sensor, noisy and sometimes out of order.
CREATE STREAM readings (tank STRING, level DOUBLE, valve STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 2 MINUTES)
  WITH (connector = 'files', path = 'input', format = 'json');

-- A function with state: the median of a tank's last five readings.
CREATE MATERIALIZED VIEW levels AS
  SELECT * FROM map_with_state(readings PARTITION BY tank ORDER BY at, 'tanks:denoise',
    'returns tank STRING, at TIMESTAMP, level DOUBLE', 'state last ARRAY<DOUBLE>');

-- A process function: several states, and a timer for a sensor that says nothing.
CREATE MATERIALIZED VIEW alarms AS
  SELECT * FROM map_with_state(readings PARTITION BY tank ORDER BY at, 'tanks:Watch', 'returns tank STRING, at TIMESTAMP, alarm STRING, level DOUBLE');

CREATE MATERIALIZED VIEW alarms_per_tank AS
  SELECT tank, count(*) AS alarms, max_by(alarm, at) AS last FROM alarms GROUP BY tank;
