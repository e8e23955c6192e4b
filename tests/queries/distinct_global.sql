-- view: distinct_global
-- uses: bids
-- cut: yes
-- run: make golden
-- says: A global distinct count over two columns.
CREATE MATERIALIZED VIEW distinct_global AS
SELECT count(DISTINCT auction, bidder) AS pairs, count(*) AS n FROM bids;
