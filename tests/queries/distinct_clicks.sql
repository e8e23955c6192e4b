-- view: distinct_clicks
-- uses: clicks
-- cut: no
-- run: make golden
-- says: Whole rows that occur twice are given once.
CREATE MATERIALIZED VIEW distinct_clicks AS
SELECT DISTINCT * FROM clicks;
