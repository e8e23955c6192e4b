-- view: view_over_filter
-- uses: bids
-- cut: no
-- says: An aggregate over a view that only filters.
CREATE MATERIALIZED VIEW view_over_filter_dear AS SELECT auction, price, at FROM bids WHERE price > 100;
CREATE MATERIALIZED VIEW view_over_filter AS SELECT auction, count(*) AS n FROM view_over_filter_dear GROUP BY auction;
