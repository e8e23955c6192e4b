SELECT s.who, s.words, s.at FROM searches s LEFT JOIN clicks c ON s.who = c.who AND c.at BETWEEN s.at AND s.at + INTERVAL 5 MINUTES WHERE c.who IS NULL
