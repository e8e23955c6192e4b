-- view: rank_page_order
-- uses: visits
-- cut: yes
-- run: make golden
-- says: The way of each visitor through the pages, in order.
CREATE MATERIALIZED VIEW rank_page_order AS
SELECT visitor, at, page, lead(page) OVER (PARTITION BY visitor ORDER BY at, page) AS next FROM visits WHERE visitor IS NOT NULL;
