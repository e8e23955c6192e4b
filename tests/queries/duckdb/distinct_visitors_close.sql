-- windows: w = clicks size 15 minutes
SELECT "window"."start" AS since, count(DISTINCT who) AS people FROM w WHERE "window"."end" <= mark('clicks') GROUP BY ALL
