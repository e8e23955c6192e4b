-- view: outer_search_without_click
-- uses: searches, clicks
-- cut: yes
-- says: Searches that nobody followed up within five minutes.
CREATE MATERIALIZED VIEW outer_search_without_click AS
SELECT s.who, s.words, s.at FROM searches s LEFT JOIN clicks c ON s.who = c.who AND c.at BETWEEN s.at AND s.at + INTERVAL 5 MINUTES WHERE c.who IS NULL;
