-- view: subquery_in_stream
-- uses: searches, clicks
-- cut: yes
-- run: make golden
-- says: Searches of people who clicked at some time.
CREATE MATERIALIZED VIEW subquery_in_stream AS
SELECT who, words FROM searches WHERE who IN (SELECT who FROM clicks WHERE ms IS NOT NULL);
