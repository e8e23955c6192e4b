SELECT word, id FROM (SELECT id, unnest(string_split(lower(text), ' ')) AS word FROM lines) w WHERE NOT EXISTS (SELECT 1 FROM stopwords s WHERE s.word = w.word)
