-- view: words_higher_order
-- uses: lines
-- cut: no
-- run: make golden
-- says: Lambdas over arrays: transform, filter, exists, aggregate.
CREATE MATERIALIZED VIEW words_higher_order AS
SELECT id, transform(tags, t -> upper(t)) AS loud, filter(tags, t -> length(t) > 3) AS long, exists(tags, t -> t = 'cat') AS has_cat, aggregate(tags, 0, (acc, t) -> acc + coalesce(length(t), 0)) AS letters FROM lines WHERE tags IS NOT NULL AND id <> 5;
