-- view: words_struct
-- uses: lines
-- cut: no
-- run: make golden
-- says: Fields of a struct, a struct as a column and as a result.
CREATE MATERIALIZED VIEW words_struct AS
SELECT id, author.name AS name, author, named_struct('Id', id, 'first tag', get(tags, 0)) AS made FROM lines WHERE author.age IS NULL OR author.age > 18;
