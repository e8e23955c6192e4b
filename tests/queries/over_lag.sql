-- view: over_lag
-- uses: bids
-- cut: yes
-- run: make golden
-- says: Each bid beside the one before it in its auction.
CREATE MATERIALIZED VIEW over_lag AS
SELECT auction, at, price, lag(price) OVER (PARTITION BY auction ORDER BY at, price, bidder) AS before, price - lag(price, 1, 0) OVER (PARTITION BY auction ORDER BY at, price, bidder) AS rise FROM bids;
