-- view: setop_intersect
-- uses: bids, auctions
-- cut: yes
-- says: People who both bid and sell.
CREATE MATERIALIZED VIEW setop_intersect AS
SELECT bidder AS who FROM bids INTERSECT SELECT seller FROM auctions;
