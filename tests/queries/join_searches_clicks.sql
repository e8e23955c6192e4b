-- view: join_searches_clicks
-- uses: searches, clicks
-- cut: no
-- run: make golden
-- says: Clicks within five minutes after a search of the same person, the border included.
CREATE MATERIALIZED VIEW join_searches_clicks AS
SELECT s.who, s.words, c.url, c.at FROM searches s JOIN clicks c ON s.who = c.who AND c.at >= s.at AND c.at <= s.at + INTERVAL 5 MINUTES;
