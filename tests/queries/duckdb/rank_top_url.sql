SELECT who, url, n FROM (SELECT who, url, count(*) AS n, rank() OVER (PARTITION BY who ORDER BY count(*) DESC) AS place FROM clicks GROUP BY who, url) WHERE place = 1
