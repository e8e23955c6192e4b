-- view: view_three_deep
-- uses: bids, people
-- cut: yes
-- run: make golden
-- says: Three views deep, with a filter, an aggregate and a ranking.
CREATE MATERIALIZED VIEW view_three_deep_web AS SELECT * FROM bids WHERE channel = 'web';
CREATE MATERIALIZED VIEW view_three_deep_counts AS SELECT bidder, count(*) AS n FROM view_three_deep_web GROUP BY bidder;
CREATE MATERIALIZED VIEW view_three_deep AS SELECT c.bidder, c.n, p.city, rank() OVER (ORDER BY c.n DESC) AS place FROM view_three_deep_counts c LEFT JOIN people p ON c.bidder = p.name;
