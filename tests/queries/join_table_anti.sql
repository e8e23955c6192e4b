-- view: join_table_anti
-- uses: bids, people
-- cut: no
-- run: make golden
-- says: An anti join with a table keeps the unknown bidders.
CREATE MATERIALIZED VIEW join_table_anti AS
SELECT auction, bidder, price FROM bids LEFT ANTI JOIN people ON bids.bidder = people.name;
