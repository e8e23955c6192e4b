-- view: view_two_views_joined
-- uses: bids, auctions
-- cut: yes
-- says: Two aggregate views joined with each other.
CREATE MATERIALIZED VIEW view_two_views_joined_bids AS SELECT bidder, sum(price) AS spent FROM bids GROUP BY bidder;
CREATE MATERIALIZED VIEW view_two_views_joined_sales AS SELECT seller, count(*) AS offered FROM auctions GROUP BY seller;
CREATE MATERIALIZED VIEW view_two_views_joined AS SELECT coalesce(b.bidder, s.seller) AS who, b.spent, s.offered FROM view_two_views_joined_bids b FULL OUTER JOIN view_two_views_joined_sales s ON b.bidder = s.seller;
