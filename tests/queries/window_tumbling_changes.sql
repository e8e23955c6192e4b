-- view: window_tumbling_changes
-- uses: bids
-- cut: no
-- says: Ten-minute windows as they grow; a bid on the border belongs to the later one.
CREATE MATERIALIZED VIEW window_tumbling_changes AS
SELECT window.start AS since, auction, count(*) AS n, sum(price) AS total FROM bids GROUP BY window(at, '10 minutes'), auction;
