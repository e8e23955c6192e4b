-- sessions: s = visits by visitor gap 5 minutes
SELECT "window"."start" AS since, "window"."end" AS until, visitor, count(*) AS n, sum(spent) AS spent FROM s WHERE "window"."end" <= mark('visits') GROUP BY ALL
