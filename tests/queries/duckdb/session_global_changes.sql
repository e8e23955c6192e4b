-- sessions: s = visits gap 5 minutes
SELECT "window"."start" AS since, "window"."end" AS until, count(*) AS n, count(visitor) AS known FROM s GROUP BY ALL
