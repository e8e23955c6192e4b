-- view: window_having_changes
-- uses: readings
-- cut: no
-- says: A window that grows out of HAVING leaves the result.
CREATE MATERIALIZED VIEW window_having_changes AS
SELECT window.start AS since, count(*) AS n FROM readings GROUP BY window(at, '10 minutes') HAVING count(*) <= 4;
