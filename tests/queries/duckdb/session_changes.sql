-- sessions: s = visits by visitor gap 5 minutes
SELECT "window" AS session, visitor, count(*) AS n FROM s GROUP BY ALL
