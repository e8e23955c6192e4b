-- view: grouping_cube
-- uses: bids
-- cut: no
-- run: make golden
-- says: CUBE over two keys.
CREATE MATERIALIZED VIEW grouping_cube AS
SELECT auction, channel, sum(price) AS total, grouping_id(auction, channel) AS gid FROM bids GROUP BY CUBE (auction, channel);
