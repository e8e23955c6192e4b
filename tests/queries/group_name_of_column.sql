-- view: group_name_of_column
-- uses: bids
-- cut: no
-- run: make golden
-- says: A name in GROUP BY is a column of the source, though an item of the select list bears it too.
CREATE MATERIALIZED VIEW group_name_of_column AS
SELECT upper(channel) AS bidder, channel, count(*) AS n FROM bids GROUP BY bidder, channel;
