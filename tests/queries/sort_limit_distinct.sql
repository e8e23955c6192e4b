-- view: sort_limit_distinct
-- uses: bids
-- cut: yes
-- run: make golden
-- says: The last names among the distinct ones, the key qualified.
CREATE MATERIALIZED VIEW sort_limit_distinct AS
SELECT DISTINCT b.bidder FROM bids b ORDER BY b.bidder DESC LIMIT 3;
