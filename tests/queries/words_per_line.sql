-- view: words_per_line
-- uses: lines
-- cut: yes
-- run: make golden
-- says: How many lines have how many distinct tags: a distinct count below an aggregate.
CREATE MATERIALIZED VIEW words_per_line AS
SELECT tags_seen, count(*) AS authors FROM (SELECT author.name AS name, count(DISTINCT tag) AS tags_seen FROM lines LATERAL VIEW explode(tags) t AS tag GROUP BY author.name) GROUP BY tags_seen;
