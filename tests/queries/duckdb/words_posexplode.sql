SELECT id, place, tag FROM (SELECT id, unnest(range(len(tags))) AS place, unnest(tags) AS tag FROM lines WHERE len(tags) > 0) WHERE place > 0
