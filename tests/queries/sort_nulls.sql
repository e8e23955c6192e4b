-- view: sort_nulls
-- uses: bids
-- cut: yes
-- run: make golden
-- says: Null sorts where it is told to.
CREATE MATERIALIZED VIEW sort_nulls AS
SELECT channel, max(price) AS top FROM bids GROUP BY channel ORDER BY channel NULLS FIRST LIMIT 2;
