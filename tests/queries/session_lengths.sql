-- view: session_lengths
-- uses: visits
-- cut: yes
-- run: make golden
-- says: An aggregate over sessions: how long they last.
CREATE MATERIALIZED VIEW session_lengths AS
SELECT visitor, count(*) AS sessions, max(n) AS longest, sum(seconds) AS seconds FROM (
  SELECT visitor, count(*) AS n, unix_timestamp(session_window.end) - unix_timestamp(session_window.start) AS seconds FROM visits GROUP BY visitor, session_window(at, '5 minutes')) GROUP BY visitor;
