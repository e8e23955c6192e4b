-- Trending hashtags in windows of ten minutes, without those on the spam list.
CREATE STREAM tweets (
  id BIGINT, at TIMESTAMP, author STRING, text STRING,
  WATERMARK FOR at AS at - INTERVAL 1 MINUTE
) WITH (connector = 'files', path = 'input', format = 'json');

CREATE TABLE spam (tag STRING, reason STRING) WITH (connector = 'files', path = 'spam.csv', format = 'csv', header = 'true');

CREATE MATERIALIZED VIEW hashtags AS
  SELECT window, tag, count(*) AS n
  FROM (SELECT at, explode(split(lower(text), '[ ,.!?]+')) AS tag FROM tweets) words
  LEFT ANTI JOIN spam USING (tag)
  WHERE tag LIKE '#_%'
  GROUP BY window(at, '10 minutes'), tag;

-- The three most used tags of each window: ranking is cut, so it is evaluated from the counts above.
CREATE MATERIALIZED VIEW trending AS
  SELECT window, place, tag, n
  FROM (SELECT *, row_number() OVER (PARTITION BY window ORDER BY n DESC, tag) AS place FROM hashtags) ranked
  WHERE place <= 3;
