SELECT id, author.name AS name, author, {'Id': id, 'first tag': tags[1]} AS made FROM lines WHERE author.age IS NULL OR author.age > 18
