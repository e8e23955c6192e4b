-- view: join_pages_duplicates
-- uses: clicks, pages
-- cut: no
-- run: make golden
-- says: A join on an expression with a table that holds a path twice and a null.
CREATE MATERIALIZED VIEW join_pages_duplicates AS
SELECT c.who, p.section, p.owner FROM clicks c JOIN pages p ON parse_url(c.url, 'PATH') = p.path;
