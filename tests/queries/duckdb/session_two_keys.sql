-- sessions: s = visits by visitor, page gap 10 minutes
SELECT visitor, page, "window"."start" AS since, max(spent) AS longest FROM s GROUP BY ALL
