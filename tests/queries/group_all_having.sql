-- view: group_all_having
-- uses: bids
-- cut: no
-- run: make golden
-- says: GROUP BY ALL ends where HAVING begins.
CREATE MATERIALIZED VIEW group_all_having AS
SELECT auction, channel, count(*) AS n, max(price) AS top FROM bids GROUP BY ALL HAVING n > 1 AND max(price) < 250;
