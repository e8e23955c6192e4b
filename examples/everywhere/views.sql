-- The view, written once. Where the log is stands in log.py; nothing here changes with it.
CREATE MATERIALIZED VIEW failures AS
  SELECT service, count(*) AS failures, count(DISTINCT host) AS hosts, max(at) AS latest
  FROM (SELECT CAST(split(value, ' ')[0] AS TIMESTAMP) AS at, split(value, ' ')[1] AS level,
               split(value, ' ')[2] AS host, split(value, ' ')[3] AS service
        FROM log) lines
  WHERE level = 'ERROR'
  GROUP BY service;
