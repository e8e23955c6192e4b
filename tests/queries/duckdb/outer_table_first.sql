SELECT p.name, p.city, count(b.price) AS n FROM people p LEFT JOIN bids b ON p.name = b.bidder GROUP BY p.name, p.city
