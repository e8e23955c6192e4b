-- view: window_having_close
-- uses: bids
-- cut: no
-- run: make golden
-- says: HAVING on closed windows: a closed window cannot leave again.
CREATE MATERIALIZED VIEW window_having_close AS
SELECT window.start AS since, bidder, count(*) AS n FROM bids GROUP BY window(at, '10 minutes'), bidder HAVING count(*) BETWEEN 1 AND 2
EMIT ON WINDOW CLOSE;
