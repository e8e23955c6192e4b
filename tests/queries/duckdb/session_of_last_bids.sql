SELECT min(newest) AS since, count(*) AS n FROM (
  SELECT newest, sum(starts) OVER (ORDER BY newest, starts DESC ROWS UNBOUNDED PRECEDING) AS part FROM (
    SELECT newest, CASE WHEN newest <= lag(newest) OVER (ORDER BY newest) + INTERVAL 30 MINUTES THEN 0 ELSE 1 END AS starts
    FROM (SELECT auction, max("at") AS newest FROM bids GROUP BY auction) e WHERE newest IS NOT NULL) m) p
GROUP BY part
