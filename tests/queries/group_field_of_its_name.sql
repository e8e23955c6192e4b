-- view: group_field_of_its_name
-- uses: bids
-- cut: no
-- run: make golden
-- says: A field that bears the name of the group does not tell the groups apart: two of them may give equal rows.
CREATE MATERIALIZED VIEW group_field_of_its_name AS
SELECT best.bidder AS channel, best.price AS price
FROM (SELECT bidder, max(struct(price, channel AS bidder)) AS best FROM bids WHERE channel IS NOT NULL GROUP BY bidder);
