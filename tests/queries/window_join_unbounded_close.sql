-- view: window_join_unbounded_close
-- uses: bids, auctions
-- cut: yes
-- run: make golden
-- says: Windows above a join that no time bounds: a closed window counts also the bids that come for it afterwards.
CREATE MATERIALIZED VIEW window_join_unbounded_close AS
SELECT window.start AS since, count(*) AS n FROM auctions a JOIN bids b ON a.id = b.auction GROUP BY window(a.at, '15 minutes')
EMIT ON WINDOW CLOSE;
