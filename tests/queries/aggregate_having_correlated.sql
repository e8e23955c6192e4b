-- view: aggregate_having_correlated
-- uses: readings, limits
-- cut: yes
-- run: make golden
-- says: HAVING with a subquery that asks a table about the group: rooms whose mean is above their own limit, and then no longer.
CREATE MATERIALIZED VIEW aggregate_having_correlated AS
SELECT room, device, avg(temp) AS mean, count(*) AS n FROM readings GROUP BY room, device
HAVING avg(temp) > (SELECT max(high) FROM limits l WHERE l.room = readings.room) AND room IN (SELECT room FROM limits WHERE low < 10);
