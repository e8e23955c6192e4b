-- view: words_regex
-- uses: lines
-- cut: no
-- run: make golden
-- says: Regular expressions: extract, replace, all matches, a match as a filter.
CREATE MATERIALIZED VIEW words_regex AS
SELECT id, regexp_extract(text, '([a-z\']+)@([a-z.]+)', 2) AS host, regexp_replace(text, '[aeiou]', '_') AS masked, regexp_count(text, 'sat') AS sat, regexp_extract_all(text, '(\\d+)', 1) AS numbers FROM lines WHERE text RLIKE '@|sat|=\\d';
