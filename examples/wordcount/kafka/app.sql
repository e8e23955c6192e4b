-- Counts words of a Kafka topic. Try it: penstock broker start; penstock produce; penstock run.
CREATE STREAM lines (value STRING) WITH (connector = 'kafka', servers = 'localhost:9092', topic = 'lines', format = 'text');

CREATE MATERIALIZED VIEW word_count AS
  SELECT word, count(*) AS n
  FROM (SELECT explode(split(lower(value), ' ')) AS word FROM lines)
  WHERE word <> ''
  GROUP BY word;
