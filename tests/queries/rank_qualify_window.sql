-- view: rank_qualify_window
-- uses: bids
-- cut: yes
-- says: The busiest auction of each ten-minute window by rank, ties kept.
CREATE MATERIALIZED VIEW rank_qualify_window AS
SELECT since, auction, n FROM (
  SELECT window.start AS since, auction, count(*) AS n, rank() OVER (PARTITION BY window ORDER BY count(*) DESC) AS place FROM bids GROUP BY window(at, '10 minutes'), auction
) WHERE place = 1;
