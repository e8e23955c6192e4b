-- view: session_view_over_close
-- uses: visits
-- cut: yes
-- says: A view over closed sessions.
CREATE MATERIALIZED VIEW session_view_over_close_each AS SELECT session_window.start AS since, visitor, count(*) AS n FROM visits GROUP BY session_window(at, '5 minutes'), visitor EMIT ON WINDOW CLOSE;
CREATE MATERIALIZED VIEW session_view_over_close AS SELECT n, count(*) AS sessions FROM session_view_over_close_each GROUP BY n;
