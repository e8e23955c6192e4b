-- view: setop_except_columns
-- uses: bids, auctions
-- cut: yes
-- says: All columns of both sides count and are shown, though no SELECT stands around them.
CREATE MATERIALIZED VIEW setop_except_columns AS
SELECT auction, bidder FROM bids EXCEPT SELECT id, seller FROM auctions;
