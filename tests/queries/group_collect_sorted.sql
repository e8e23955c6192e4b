-- view: group_collect_sorted
-- uses: bids
-- cut: no
-- run: make golden
-- says: A sorted set and a sorted list of what was seen.
CREATE MATERIALIZED VIEW group_collect_sorted AS
SELECT auction, sort_array(collect_set(bidder)) AS bidders, sort_array(collect_list(price), false) AS prices FROM bids GROUP BY auction;
