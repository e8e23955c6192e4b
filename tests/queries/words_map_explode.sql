-- view: words_map_explode
-- uses: lines
-- cut: no
-- run: make golden
-- says: A map exploded to keys and values, with empty and unicode keys and null values.
CREATE MATERIALIZED VIEW words_map_explode AS
SELECT name, count(*) AS n, sum(value) AS total FROM lines LATERAL VIEW explode(props) p AS name, value GROUP BY name;
