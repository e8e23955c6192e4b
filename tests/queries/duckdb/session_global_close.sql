-- sessions: s = visits gap 3 minutes
SELECT "window"."start" AS since, "window"."end" AS until, count(*) AS n FROM s WHERE "window"."end" <= mark('visits') GROUP BY ALL
