-- view: window_of_windows_close
-- uses: bids
-- cut: yes
-- run: make golden
-- says: Half hours made of ten-minute windows, given out when they are over.
CREATE MATERIALIZED VIEW window_of_windows_close AS
SELECT window.start AS since, count(*) AS slots, sum(n) AS bids
FROM (SELECT window.start AS slot, count(*) AS n FROM bids GROUP BY window(at, '10 minutes')) GROUP BY window(slot, '30 minutes')
EMIT ON WINDOW CLOSE;
