-- view: distinct_field_and_column
-- uses: bids
-- cut: yes
-- run: make golden
-- says: A column and a field of a struct that share a name are two groups.
CREATE MATERIALIZED VIEW distinct_field_and_column AS
SELECT bidder AS who, via.bidder AS channel, count(DISTINCT auction) AS auctions
FROM (SELECT bidder, auction, named_struct('bidder', channel) AS via FROM bids) GROUP BY bidder, via.bidder;
