-- view: text_quotes
-- uses: searches
-- cut: no
-- says: Apostrophes and quotes in literals, in data and in LIKE.
CREATE MATERIALIZED VIEW text_quotes AS
SELECT who, words, replace(words, '"', '<q>') AS marked, concat('it''s ', words) AS said FROM searches WHERE words LIKE '%what''s%' OR words LIKE '"exact"%' OR words = 'book';
