-- sessions: s = visits by visitor gap 5 minutes
SELECT visitor, count(*) AS sessions, max(n) AS longest, sum(seconds) AS seconds FROM (
  SELECT visitor, count(*) AS n, CAST(floor(epoch("window"."end")) - floor(epoch("window"."start")) AS BIGINT) AS seconds FROM s GROUP BY visitor, "window") GROUP BY visitor
