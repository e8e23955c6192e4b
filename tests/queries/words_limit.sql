-- view: words_limit
-- uses: lines
-- cut: yes
-- run: make golden
-- says: The five most frequent words, ties broken by the word.
CREATE MATERIALIZED VIEW words_limit AS
SELECT word, count(*) AS n FROM (SELECT explode(split(lower(text), ' ')) AS word FROM lines) GROUP BY word ORDER BY n DESC, word LIMIT 5;
