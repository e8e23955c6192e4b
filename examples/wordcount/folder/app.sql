-- Counts words over a folder of text files; a file that is added later is counted when it arrives.
CREATE STREAM lines (value STRING) WITH (connector = 'files', path = '../input', format = 'text');

CREATE MATERIALIZED VIEW word_count AS
  SELECT word, count(*) AS n
  FROM (SELECT explode(split(lower(value), ' ')) AS word FROM lines)
  WHERE word <> ''
  GROUP BY word;
