-- view: steps_highest_of_window
-- uses: bids
-- cut: yes
-- says: The bids with the highest price of their ten minutes, joined by the price alone.
CREATE MATERIALIZED VIEW steps_highest_of_window AS
SELECT b.auction, b.price, b.bidder
FROM bids b JOIN (SELECT window.end AS till, max(price) AS top FROM bids GROUP BY window(at, '10 minutes')) m ON b.price = m.top
WHERE b.at >= m.till - INTERVAL 10 MINUTES AND b.at < m.till;
