SELECT who, count_if(ms > 10) / count(*) AS slow_share, avg(ms) AS mean_ms, count(*) - count(ms) AS unmeasured FROM clicks GROUP BY who
