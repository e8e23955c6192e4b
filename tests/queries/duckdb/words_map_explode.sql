SELECT name, count(*) AS n, sum(value) AS total FROM (SELECT unnest(map_keys(props)) AS name, unnest(map_values(props)) AS value FROM lines) GROUP BY name
