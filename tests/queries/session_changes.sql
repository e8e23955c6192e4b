-- view: session_changes
-- uses: visits
-- cut: yes
-- says: Sessions as they grow and merge.
CREATE MATERIALIZED VIEW session_changes AS
SELECT session_window AS session, visitor, count(*) AS n FROM visits GROUP BY session_window(at, '5 minutes'), visitor;
