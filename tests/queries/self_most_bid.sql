-- view: self_most_bid
-- uses: bids
-- cut: yes
-- says: The most-bid item of each window: an aggregate joined with its own maximum; an overtaken leader leaves.
CREATE MATERIALIZED VIEW self_most_bid AS
SELECT c.since, c.auction, c.n FROM
  (SELECT window.start AS since, auction, count(*) AS n FROM bids GROUP BY window(at, '10 minutes'), auction) c
  JOIN (SELECT since, max(n) AS most FROM (SELECT window.start AS since, auction, count(*) AS n FROM bids GROUP BY window(at, '10 minutes'), auction) GROUP BY since) m
  ON c.since = m.since AND c.n = m.most;
