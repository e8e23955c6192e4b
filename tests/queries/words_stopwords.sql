-- view: words_stopwords
-- uses: lines, stopwords
-- cut: no
-- says: An explode, then an anti join with a table of stop words.
CREATE MATERIALIZED VIEW words_stopwords AS
SELECT word, id FROM (SELECT id, explode(split(lower(text), ' ')) AS word FROM lines) w LEFT ANTI JOIN stopwords s ON w.word = s.word;
