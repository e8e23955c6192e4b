-- view: sort_limit_offset
-- uses: bids
-- cut: yes
-- run: make golden
-- says: The third and fourth by total, with OFFSET.
CREATE MATERIALIZED VIEW sort_limit_offset AS
SELECT auction, sum(price) AS total FROM bids GROUP BY auction ORDER BY total DESC, auction LIMIT 2 OFFSET 2;
