SELECT s.who, s.words, c.url, c.at FROM searches s JOIN clicks c ON s.who = c.who AND c.at >= s.at AND c.at <= s.at + INTERVAL 5 MINUTES
