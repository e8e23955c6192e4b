-- view: words_count
-- uses: lines
-- cut: no
-- says: The word count: split, explode, lower, group.
CREATE MATERIALIZED VIEW words_count AS
SELECT word, count(*) AS n FROM (SELECT explode(split(lower(text), '[^\\p{L}\']+')) AS word FROM lines) WHERE word <> '' GROUP BY word;
