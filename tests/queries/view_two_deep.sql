-- view: view_two_deep
-- uses: bids
-- cut: yes
-- says: A view over an aggregate view.
CREATE MATERIALIZED VIEW view_two_deep_totals AS SELECT auction, bidder, sum(price) AS total FROM bids GROUP BY auction, bidder;
CREATE MATERIALIZED VIEW view_two_deep AS SELECT auction, max(total) AS best, count(*) AS bidders FROM view_two_deep_totals GROUP BY auction;
