-- view: window_click_through
-- uses: searches, clicks
-- cut: yes
-- run: make golden
-- says: An aggregate of one stream joined with an aggregate of another, by window.
CREATE MATERIALIZED VIEW window_click_through AS
SELECT s.since, s.n AS searches, coalesce(c.n, 0) AS clicks
FROM (SELECT window.start AS since, count(*) AS n FROM searches GROUP BY window(at, '10 minutes')) s
LEFT JOIN (SELECT window.start AS since, count(*) AS n FROM clicks GROUP BY window(at, '10 minutes')) c ON s.since = c.since;
