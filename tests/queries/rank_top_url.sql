-- view: rank_top_url
-- uses: clicks
-- cut: yes
-- run: make golden
-- says: The most clicked address of each person, ties kept.
CREATE MATERIALIZED VIEW rank_top_url AS
SELECT who, url, n FROM (SELECT who, url, count(*) AS n, rank() OVER (PARTITION BY who ORDER BY count(*) DESC) AS place FROM clicks GROUP BY who, url) WHERE place = 1;
