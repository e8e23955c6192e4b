-- view: distinct_visitors_window
-- uses: clicks
-- cut: yes
-- run: make golden
-- says: Distinct people in each window.
CREATE MATERIALIZED VIEW distinct_visitors_window AS
SELECT window.start AS since, count(DISTINCT who) AS people, count(*) AS clicks FROM clicks GROUP BY window(at, '15 minutes');
