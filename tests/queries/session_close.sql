-- view: session_close
-- uses: visits
-- cut: no
-- says: Sessions of five minutes by visitor, on close: a gap of exactly five minutes, one a millisecond shorter, a null visitor.
CREATE MATERIALIZED VIEW session_close AS
SELECT session_window.start AS since, session_window.end AS until, visitor, count(*) AS n, sum(spent) AS spent FROM visits GROUP BY session_window(at, '5 minutes'), visitor
EMIT ON WINDOW CLOSE;
