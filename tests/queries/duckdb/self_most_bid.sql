-- windows: w = bids size 10 minutes
WITH c AS (SELECT "window"."start" AS since, auction, count(*) AS n FROM w GROUP BY ALL)
SELECT c.since, c.auction, c.n FROM c JOIN (SELECT since, max(n) AS most FROM c GROUP BY since) m ON c.since = m.since AND c.n = m.most
