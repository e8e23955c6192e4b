-- view: join_table_semi
-- uses: bids, people
-- cut: no
-- run: make golden
-- says: A semi join does not multiply.
CREATE MATERIALIZED VIEW join_table_semi AS
SELECT auction, bidder, price FROM bids LEFT SEMI JOIN people ON bids.bidder = people.name;
