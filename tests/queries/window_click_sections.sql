-- view: window_click_sections
-- uses: clicks, pages
-- cut: no
-- run: make golden
-- says: Sliding windows over a join with a table, as they grow.
CREATE MATERIALIZED VIEW window_click_sections AS
SELECT window, p.section, count(*) AS n FROM clicks c JOIN pages p ON regexp_extract(c.url, '^https?://[^/]+([^?#]*)', 1) = p.path GROUP BY window(c.at, '30 minutes', '10 minutes'), p.section;
