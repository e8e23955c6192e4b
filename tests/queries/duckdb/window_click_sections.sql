-- windows: w = clicks size 30 minutes step 10 minutes
SELECT w."window", p.section, count(*) AS n FROM w JOIN pages p ON regexp_extract(w.url, '^https?://[^/]+([^?#]*)', 1) = p.path GROUP BY ALL
