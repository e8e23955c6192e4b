-- sessions: s = visits by visitor gap 10 minutes
SELECT visitor, "window"."start" AS since, count(DISTINCT page) AS pages, count(DISTINCT spent) AS spans,
  sum(DISTINCT spent) FILTER (WHERE page <> 'cart') AS seconds, count(*) AS n
FROM s GROUP BY visitor, "window" HAVING count(DISTINCT page) > 1
