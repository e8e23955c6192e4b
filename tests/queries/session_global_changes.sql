-- view: session_global_changes
-- uses: visits
-- cut: yes
-- run: make golden
-- says: Sessions of the whole stream as they grow.
CREATE MATERIALIZED VIEW session_global_changes AS
SELECT session_window.start AS since, session_window.end AS until, count(*) AS n, count(visitor) AS known FROM visits GROUP BY session_window(at, '5 minutes');
