-- view: group_max_by
-- uses: bids
-- cut: no
-- run: make golden
-- says: The highest and the lowest bid with a tie broken by bidder and time.
CREATE MATERIALIZED VIEW group_max_by AS
SELECT auction, max_by(bidder, struct(price, bidder, at)) AS leader, min_by(price, struct(at, price)) AS opening FROM bids GROUP BY auction;
