-- view: join_streams_interval
-- uses: bids, auctions
-- cut: no
-- says: Bids within ten minutes after the auction opened, both borders included.
CREATE MATERIALIZED VIEW join_streams_interval AS
SELECT a.id, a.category, b.bidder, b.price, b.at FROM auctions a JOIN bids b
  ON a.id = b.auction AND b.at BETWEEN a.at AND a.at + INTERVAL 10 MINUTES;
