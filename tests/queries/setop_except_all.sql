-- view: setop_except_all
-- uses: bids, auctions
-- cut: yes
-- run: make golden
-- says: EXCEPT ALL counts copies.
CREATE MATERIALIZED VIEW setop_except_all AS
SELECT bidder AS who FROM bids EXCEPT ALL SELECT seller FROM auctions;
