-- view: words_arrays
-- uses: lines
-- cut: no
-- says: Functions of arrays: sorted, joined, contained, sliced.
CREATE MATERIALIZED VIEW words_arrays AS
SELECT id, array_join(sort_array(tags), '+') AS joined, array_contains(tags, 'cat') AS cat, size(tags) AS n, array_distinct(tags) AS once, slice(tags, 1, 2) AS two FROM lines WHERE id <> 5 AND tags IS NOT NULL;
