-- view: group_null_key
-- uses: bids
-- cut: no
-- run: make golden
-- says: Null is a group of its own.
CREATE MATERIALIZED VIEW group_null_key AS
SELECT channel, count(*) AS bids, sum(price) AS total, min(bidder) AS first_name FROM bids GROUP BY channel;
