-- view: window_known_by_end
-- uses: readings
-- cut: no
-- says: Sliding windows known by their end alone, and by nothing else; a window that HAVING drops is taken back by that key.
CREATE MATERIALIZED VIEW window_known_by_end AS
SELECT window.end AS till, count(*) AS n, max(temp) AS warmest FROM readings GROUP BY window(at, '20 minutes', '10 minutes') HAVING count(*) < 4;
