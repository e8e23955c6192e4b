-- view: join_streams_filtered
-- uses: bids, auctions
-- cut: no
-- run: make golden
-- says: Filters on both sides and a residual condition of an inner join of streams.
CREATE MATERIALIZED VIEW join_streams_filtered AS
SELECT a.id, b.price, b.price - a.reserve AS over_reserve FROM auctions a JOIN bids b ON a.id = b.auction AND b.price >= a.reserve
WHERE a.category = 'art' AND b.channel = 'web';
