-- view: rank_ntile
-- uses: bids
-- cut: yes
-- run: make golden
-- says: percent_rank, cume_dist and ntile over an aggregate.
CREATE MATERIALIZED VIEW rank_ntile AS
SELECT bidder, percent_rank() OVER (ORDER BY n) AS share_below, cume_dist() OVER (ORDER BY n) AS share_upto, ntile(2) OVER (ORDER BY n, bidder) AS half
FROM (SELECT bidder, count(*) AS n FROM bids GROUP BY bidder);
