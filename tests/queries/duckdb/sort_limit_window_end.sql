-- windows: w = bids size 10 minutes
SELECT "window", channel, min(price) AS "start", max(price) AS "end" FROM w GROUP BY "window", channel ORDER BY "window"."end" DESC, channel NULLS FIRST LIMIT 5
