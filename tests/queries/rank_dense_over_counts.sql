-- view: rank_dense_over_counts
-- uses: bids
-- cut: yes
-- run: make golden
-- says: dense_rank over counts that tie.
CREATE MATERIALIZED VIEW rank_dense_over_counts AS
SELECT auction, n, dense_rank() OVER (ORDER BY n DESC) AS place FROM (SELECT auction, count(*) AS n FROM bids GROUP BY auction);
