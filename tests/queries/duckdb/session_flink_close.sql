-- sessions: s = visits by visitor gap 5 minutes
SELECT "window"."start" AS window_start, "window"."end" AS window_end, visitor, count(*) AS n FROM s WHERE "window"."end" <= mark('visits') GROUP BY ALL
