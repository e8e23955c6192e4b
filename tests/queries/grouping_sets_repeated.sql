-- view: grouping_sets_repeated
-- uses: bids
-- cut: yes
-- run: make golden
-- says: A grouping set that is given twice gives its rows twice.
CREATE MATERIALIZED VIEW grouping_sets_repeated AS
SELECT channel, bidder, count(*) AS n FROM bids GROUP BY channel, ROLLUP(channel, bidder);
