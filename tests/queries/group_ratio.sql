-- view: group_ratio
-- uses: clicks
-- cut: no
-- run: make golden
-- says: Aggregates inside expressions: a share, and a mean over nulls.
CREATE MATERIALIZED VIEW group_ratio AS
SELECT who, count_if(ms > 10) / count(*) AS slow_share, avg(ms) AS mean_ms, count(*) - count(ms) AS unmeasured FROM clicks GROUP BY who;
