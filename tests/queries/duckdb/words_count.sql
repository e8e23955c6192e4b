SELECT word, count(*) AS n FROM (SELECT unnest(regexp_split_to_array(lower(text), '[^\p{L}'']+')) AS word FROM lines) WHERE word <> '' GROUP BY word
