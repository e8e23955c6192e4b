-- windows: w = bids size 10 minutes
SELECT auction, sum(n) AS total, max(n) AS busiest FROM (SELECT "window"."start" AS since, auction, count(*) AS n FROM w WHERE "window"."end" <= mark('bids') GROUP BY ALL) GROUP BY auction
