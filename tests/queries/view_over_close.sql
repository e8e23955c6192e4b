-- view: view_over_close
-- uses: bids
-- cut: yes
-- run: make golden
-- says: An aggregate over a view that is given out on close sees closed windows only.
CREATE MATERIALIZED VIEW view_over_close_windows AS SELECT window.start AS since, auction, count(*) AS n FROM bids GROUP BY window(at, '10 minutes'), auction EMIT ON WINDOW CLOSE;
CREATE MATERIALIZED VIEW view_over_close AS SELECT auction, sum(n) AS total, max(n) AS busiest FROM view_over_close_windows GROUP BY auction;
