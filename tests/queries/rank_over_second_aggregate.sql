-- view: rank_over_second_aggregate
-- uses: bids
-- cut: yes
-- run: make golden
-- says: A rank among all groups of a second aggregate, of which only some have changed; one column has the name that Spark gives it.
CREATE MATERIALIZED VIEW rank_over_second_aggregate AS
SELECT minute, sum(n), rank() OVER (ORDER BY sum(n) DESC) AS r
FROM (SELECT date_trunc('MINUTE', at) AS minute, channel, count(*) AS n FROM bids GROUP BY date_trunc('MINUTE', at), channel) GROUP BY minute;
