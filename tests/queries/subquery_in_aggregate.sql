-- view: subquery_in_aggregate
-- uses: bids
-- cut: yes
-- says: Bids on auctions with few bids: IN over an aggregate that loses members.
CREATE MATERIALIZED VIEW subquery_in_aggregate AS
SELECT auction, bidder, price FROM bids WHERE auction IN (SELECT auction FROM bids GROUP BY auction HAVING count(*) <= 6);
