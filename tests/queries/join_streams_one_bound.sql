-- view: join_streams_one_bound
-- uses: bids, auctions
-- cut: no
-- run: make golden
-- says: Bids at any time after the auction opened, by the time at which it did: a bid that is not late counts however old the auction is.
CREATE MATERIALIZED VIEW join_streams_one_bound AS
SELECT a.id, a.at, count(*) AS bids, max(b.price) AS top FROM auctions a JOIN bids b ON a.id = b.auction AND b.at >= a.at GROUP BY a.id, a.at;
