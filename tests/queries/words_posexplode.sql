-- view: words_posexplode
-- uses: lines
-- cut: no
-- run: make golden
-- says: LATERAL VIEW with positions and a filter on them.
CREATE MATERIALIZED VIEW words_posexplode AS
SELECT id, place, tag FROM lines LATERAL VIEW posexplode(tags) t AS place, tag WHERE place > 0;
