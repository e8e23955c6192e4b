SELECT who, words, replace(words, '"', '<q>') AS marked, concat('it''s ', words) AS said FROM searches WHERE words LIKE '%what''s%' OR words LIKE '"exact"%' OR words = 'book'
