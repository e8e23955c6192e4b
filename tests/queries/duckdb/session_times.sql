-- sessions: s = visits by visitor gap 5 minutes
SELECT visitor, "window"."end" - INTERVAL 1 MICROSECOND AS latest, count(*) AS n FROM s GROUP BY ALL
