-- view: words_map_access
-- uses: lines
-- cut: no
-- run: make golden
-- says: Values of a map by key, its size and its sorted keys.
CREATE MATERIALIZED VIEW words_map_access AS
SELECT id, props['stars'] AS stars, coalesce(props['views'], 0) AS views, sort_array(map_keys(props)) AS names FROM lines;
