-- Connections to a network's hosts; `ok` is the outcome of a login, null where there is none.
CREATE STREAM log (source STRING, port INT, user STRING, ok BOOLEAN, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 10 SECONDS)
  WITH (connector = 'files', path = 'input', format = 'json');

-- Five ports in a row, each another than the one before, in ten seconds.
CREATE MATERIALIZED VIEW port_scan AS
  SELECT * FROM log MATCH_RECOGNIZE (
    PARTITION BY source ORDER BY at
    MEASURES first(at) AS since, first(port) AS first_port, collect_list(port) AS ports
    PATTERN (knock another{4}) WITHIN INTERVAL '10' SECOND
    DEFINE another AS port <> prev(port));

-- Failed logins until one succeeds.
CREATE MATERIALIZED VIEW brute_force AS
  SELECT * FROM log MATCH_RECOGNIZE (
    PARTITION BY source, user ORDER BY at
    MEASURES count(failed.*) AS failures, success.at AS broken_in_at
    PATTERN (failed{5,} success) WITHIN INTERVAL '1' MINUTE
    DEFINE failed AS NOT ok, success AS ok);
