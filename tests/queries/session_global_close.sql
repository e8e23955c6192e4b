-- view: session_global_close
-- uses: visits
-- cut: yes
-- says: Sessions of the whole stream on close, which Spark refuses only when it runs.
CREATE MATERIALIZED VIEW session_global_close AS
SELECT session_window.start AS since, session_window.end AS until, count(*) AS n FROM visits GROUP BY session_window(at, '3 minutes')
EMIT ON WINDOW CLOSE;
