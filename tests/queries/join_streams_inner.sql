-- view: join_streams_inner
-- uses: bids, auctions
-- cut: no
-- says: Two streams joined without a bound on time, an auction declared twice.
CREATE MATERIALIZED VIEW join_streams_inner AS
SELECT b.auction, b.bidder, b.price, a.seller, a.category FROM bids b JOIN auctions a ON b.auction = a.id;
