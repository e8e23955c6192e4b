-- view: group_ordinals
-- uses: bids
-- cut: no
-- run: make golden
-- says: GROUP BY ordinals.
CREATE MATERIALIZED VIEW group_ordinals AS
SELECT upper(bidder) AS name, coalesce(channel, '-') AS via, avg(price) AS mean FROM bids GROUP BY 1, 2;
