-- view: words_top
-- uses: lines
-- cut: yes
-- says: The most frequent tags, every tie kept.
CREATE MATERIALIZED VIEW words_top AS
SELECT tag, n FROM (SELECT tag, n, rank() OVER (ORDER BY n DESC) AS place FROM (SELECT tag, count(*) AS n FROM lines LATERAL VIEW explode(tags) t AS tag GROUP BY tag)) WHERE place <= 2;
