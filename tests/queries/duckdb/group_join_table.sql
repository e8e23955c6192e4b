SELECT p.city, count(*) AS n, sum(b.price) AS total FROM bids b LEFT JOIN people p ON b.bidder = p.name GROUP BY p.city
