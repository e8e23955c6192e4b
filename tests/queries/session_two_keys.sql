-- view: session_two_keys
-- uses: visits
-- cut: yes
-- run: make golden
-- says: Sessions by two keys as they grow.
CREATE MATERIALIZED VIEW session_two_keys AS
SELECT visitor, page, session_window.start AS since, max(spent) AS longest FROM visits GROUP BY visitor, page, session_window(at, '10 minutes');
