-- view: words_unicode
-- uses: lines
-- cut: no
-- says: Letters outside ASCII are letters: upper, length, substring, reverse, padding.
CREATE MATERIALIZED VIEW words_unicode AS
SELECT id, upper(author.name) AS name, length(text) AS letters, substring(text, 1, 9) AS head, reverse(substring(text, 1, 9)) AS back, lpad(CAST(id AS STRING), 4, '·') AS padded, text LIKE '%é%' AS accent FROM lines WHERE id IN (2, 5, 9);
