-- view: self_stream_with_max
-- uses: bids
-- cut: yes
-- run: make golden
-- says: Every bid that equals the highest of its auction: a stream joined with its aggregate.
CREATE MATERIALIZED VIEW self_stream_with_max AS
SELECT b.auction, b.bidder, b.price FROM bids b JOIN (SELECT auction, max(price) AS top FROM bids GROUP BY auction) m ON b.auction = m.auction AND b.price = m.top;
