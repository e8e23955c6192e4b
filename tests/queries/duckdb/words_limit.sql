SELECT word, count(*) AS n FROM (SELECT unnest(string_split(lower(text), ' ')) AS word FROM lines) GROUP BY word ORDER BY n DESC, word LIMIT 5
