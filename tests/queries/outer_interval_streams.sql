-- view: outer_interval_streams
-- uses: bids, auctions
-- cut: yes
-- run: make golden
-- says: An outer join with a bound on time: who has no bid in the first ten minutes is known at once.
CREATE MATERIALIZED VIEW outer_interval_streams AS
SELECT a.id, b.bidder, b.at FROM auctions a LEFT JOIN bids b ON a.id = b.auction AND b.at BETWEEN a.at AND a.at + INTERVAL 10 MINUTES;
