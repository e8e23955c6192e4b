-- view: distinct_clicks
-- uses: clicks
-- cut: no
-- says: Whole rows that occur twice are given once.
CREATE MATERIALIZED VIEW distinct_clicks AS
SELECT DISTINCT * FROM clicks;
