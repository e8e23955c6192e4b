-- view: union_timeline
-- uses: searches, clicks
-- cut: no
-- run: make golden
-- says: Two streams of different columns as one timeline.
CREATE MATERIALIZED VIEW union_timeline AS
SELECT who, at, 'search' AS kind, words AS detail, CAST(NULL AS INT) AS ms FROM searches UNION ALL SELECT who, at, 'click', url, ms FROM clicks;
