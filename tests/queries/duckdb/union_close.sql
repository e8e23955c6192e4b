-- windows: s = searches size 10 minutes
-- windows: c = clicks size 10 minutes
SELECT "window"."start" AS since, count(*) AS n, count_if(kind = 'click') AS clicks FROM (SELECT "window", 'search' AS kind FROM s UNION ALL SELECT "window", 'click' FROM c)
WHERE "window"."end" <= least(mark('searches'), mark('clicks')) GROUP BY ALL
