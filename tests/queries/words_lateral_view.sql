-- view: words_lateral_view
-- uses: lines
-- cut: no
-- run: make golden
-- says: LATERAL VIEW over an array, and OUTER for those without.
CREATE MATERIALIZED VIEW words_lateral_view AS
SELECT id, tag FROM lines LATERAL VIEW OUTER explode(tags) t AS tag;
