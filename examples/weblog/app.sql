-- Web-access-log analytics. A line: 2016-12-06T08:58:35.318+0000 37.139.9.11 404 GET /codemove/TTCENCUFMH3C 0.026
CREATE STREAM log (value STRING) WITH (connector = 'files', path = 'input', format = 'text');

CREATE MATERIALIZED VIEW requests AS
  SELECT to_timestamp(part[0], "yyyy-MM-dd'T'HH:mm:ss.SSSZ") AS at, part[1] AS ip, CAST(part[2] AS INT) AS status,
         part[3] AS method, part[4] AS url, CAST(part[5] AS DOUBLE) AS seconds
  FROM (SELECT split(value, ' ') AS part FROM log WHERE value RLIKE '^[0-9T:.+-]+ [0-9.]+ [0-9]{3} [A-Z]+ [^ ]+ [0-9.]+$') parsed;

-- What does not look like a request is kept where it can be read, and stops nothing.
CREATE MATERIALIZED VIEW malformed AS
  SELECT value FROM log WHERE NOT value RLIKE '^[0-9T:.+-]+ [0-9.]+ [0-9]{3} [A-Z]+ [^ ]+ [0-9.]+$';

CREATE MATERIALIZED VIEW errors_per_ip AS
  SELECT ip, count(*) AS errors, count(DISTINCT url) AS urls FROM requests WHERE status >= 400 GROUP BY ip;

CREATE MATERIALIZED VIEW slow_urls AS
  SELECT url, count(*) AS hits, round(avg(seconds), 3) AS mean_s, max(seconds) AS worst_s
  FROM requests GROUP BY url HAVING avg(seconds) > 0.5 ORDER BY mean_s DESC, url LIMIT 5;

CREATE MATERIALIZED VIEW rate AS
  SELECT window, count(*) AS requests, count_if(status >= 500) AS failures FROM requests GROUP BY window(at, '1 minute');
