-- view: setop_except
-- uses: bids, auctions
-- cut: yes
-- says: Auctions with bids that nobody declared, each once.
CREATE MATERIALIZED VIEW setop_except AS
SELECT auction FROM bids EXCEPT SELECT id FROM auctions;
