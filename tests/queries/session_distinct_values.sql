-- view: session_distinct_values
-- uses: visits
-- cut: yes
-- says: Several DISTINCT aggregates of a session, one with FILTER: equal values that lie further apart than the gap count once.
CREATE MATERIALIZED VIEW session_distinct_values AS
SELECT visitor, session_window.start AS since, count(DISTINCT page) AS pages, count(DISTINCT spent) AS spans,
  sum(DISTINCT spent) FILTER (WHERE page <> 'cart') AS seconds, count(*) AS n
FROM visits GROUP BY visitor, session_window(at, '10 minutes') HAVING count(DISTINCT page) > 1;
