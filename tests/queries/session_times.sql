-- view: session_times
-- uses: visits
-- cut: yes
-- run: make golden
-- says: The last instant of a session, by Spark's own function.
CREATE MATERIALIZED VIEW session_times AS
SELECT visitor, window_time(session_window) AS latest, count(*) AS n FROM visits GROUP BY session_window(at, '5 minutes'), visitor;
