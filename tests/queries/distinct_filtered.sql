-- view: distinct_filtered
-- uses: bids
-- cut: yes
-- says: DISTINCT aggregates of several arguments and with filters, beside plain ones.
CREATE MATERIALIZED VIEW distinct_filtered AS
SELECT channel, count(DISTINCT bidder) AS bidders, count(DISTINCT auction) FILTER (WHERE price > 100) AS dear, count(DISTINCT auction, bidder) AS pairs,
  sum(DISTINCT price) FILTER (WHERE price < 200) AS cheap, max(price) AS top, count(*) FILTER (WHERE price > 100) AS n
FROM bids GROUP BY channel HAVING count(*) > 1;
