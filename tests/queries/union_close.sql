-- view: union_close
-- uses: searches, clicks
-- cut: no
-- says: A window over a union of two streams closes by the slower of the two.
CREATE MATERIALIZED VIEW union_close AS
SELECT window.start AS since, count(*) AS n, count_if(kind = 'click') AS clicks
FROM (SELECT at, 'search' AS kind FROM searches UNION ALL SELECT at, 'click' AS kind FROM clicks) GROUP BY window(at, '10 minutes')
EMIT ON WINDOW CLOSE;
