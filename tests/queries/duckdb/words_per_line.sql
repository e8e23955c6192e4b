SELECT tags_seen, count(*) AS authors FROM (SELECT name, count(DISTINCT tag) AS tags_seen FROM (SELECT author.name AS name, unnest(tags) AS tag FROM lines) GROUP BY name) GROUP BY tags_seen
