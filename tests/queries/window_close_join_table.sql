-- view: window_close_join_table
-- uses: bids, people
-- cut: no
-- says: A window over a join with a table, on close.
CREATE MATERIALIZED VIEW window_close_join_table AS
SELECT window.end AS until, p.city, sum(b.price) AS total FROM bids b JOIN people p ON b.bidder = p.name GROUP BY window(b.at, '30 minutes'), p.city
EMIT ON WINDOW CLOSE;
