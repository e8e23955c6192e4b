-- view: over_first_last
-- uses: bids
-- cut: yes
-- run: make golden
-- says: First and last values of a whole partition.
CREATE MATERIALIZED VIEW over_first_last AS
SELECT auction, bidder, first_value(price) OVER w AS opening, last_value(bidder) OVER w AS latest FROM bids
WINDOW w AS (PARTITION BY auction ORDER BY at, price, bidder ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
