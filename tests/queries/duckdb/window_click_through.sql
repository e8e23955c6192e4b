-- windows: sw = searches size 10 minutes
-- windows: cw = clicks size 10 minutes
SELECT s.since, s.n AS searches, coalesce(c.n, 0) AS clicks FROM (SELECT "window"."start" AS since, count(*) AS n FROM sw GROUP BY 1) s
LEFT JOIN (SELECT "window"."start" AS since, count(*) AS n FROM cw GROUP BY 1) c ON s.since = c.since
