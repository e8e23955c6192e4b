-- windows: w = clicks size 15 minutes
SELECT "window"."start" AS since, count(DISTINCT who) AS people, count(*) AS clicks FROM w GROUP BY ALL
