-- view: group_three_keys
-- uses: bids
-- cut: no
-- run: make golden
-- says: Three keys, one of them with nulls and one with an apostrophe.
CREATE MATERIALIZED VIEW group_three_keys AS
SELECT auction, bidder, channel, count(*) AS n, max(price) AS top FROM bids GROUP BY auction, bidder, channel;
