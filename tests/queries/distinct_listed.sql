-- view: distinct_listed
-- uses: bids
-- cut: yes
-- run: make golden
-- says: DISTINCT beside a constant argument: the separator stays constant above the kept rows.
CREATE MATERIALIZED VIEW distinct_listed AS
SELECT auction, array_join(array_sort(split(listagg(DISTINCT bidder, '; '), '; ')), ', ') AS bidders, count(*) AS n FROM bids GROUP BY auction;
