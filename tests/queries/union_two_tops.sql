-- view: union_two_tops
-- uses: bids
-- cut: yes
-- run: make golden
-- says: Two rankings of the same groups, each by a measure of its own.
CREATE MATERIALIZED VIEW union_two_tops AS
(SELECT bidder, channel FROM bids GROUP BY bidder, channel ORDER BY count(*) DESC, bidder, channel LIMIT 3)
UNION ALL
(SELECT bidder, channel FROM bids GROUP BY bidder, channel ORDER BY min(price), bidder, channel LIMIT 3);
