-- view: sort_limit_stream
-- uses: bids
-- cut: yes
-- says: The five highest bids of a stream.
CREATE MATERIALIZED VIEW sort_limit_stream AS
SELECT auction, bidder, price, at FROM bids ORDER BY price DESC, at, bidder, auction LIMIT 5;
