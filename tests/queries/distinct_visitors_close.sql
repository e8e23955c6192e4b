-- view: distinct_visitors_close
-- uses: clicks
-- cut: yes
-- says: Distinct people in each closed window.
CREATE MATERIALIZED VIEW distinct_visitors_close AS
SELECT window.start AS since, count(DISTINCT who) AS people FROM clicks GROUP BY window(at, '15 minutes')
EMIT ON WINDOW CLOSE;
