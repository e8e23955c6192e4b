SELECT tag, n FROM (SELECT tag, n, rank() OVER (ORDER BY n DESC) AS place FROM (SELECT tag, count(*) AS n FROM (SELECT unnest(tags) AS tag FROM lines) GROUP BY tag)) WHERE place <= 2
