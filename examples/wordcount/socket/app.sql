-- Counts words that a program writes to a socket, one line each. Try it: nc -lk 9999, then penstock run.
-- A socket cannot be asked again, so the stream is recorded in the state folder and batch reads the recording.
CREATE STREAM lines (value STRING) WITH (connector = 'socket', host = 'localhost', port = '9999', format = 'text');

CREATE MATERIALIZED VIEW word_count AS
  SELECT word, count(*) AS n
  FROM (SELECT explode(split(lower(value), ' ')) AS word FROM lines)
  WHERE word <> ''
  GROUP BY word;
