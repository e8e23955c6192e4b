-- sessions: s = visits by visitor gap 5 minutes
SELECT n, count(*) AS sessions FROM (SELECT visitor, count(*) AS n FROM s WHERE "window"."end" <= mark('visits') GROUP BY visitor, "window") GROUP BY n
