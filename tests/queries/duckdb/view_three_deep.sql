SELECT c.bidder, c.n, p.city, rank() OVER (ORDER BY c.n DESC) AS place FROM (SELECT bidder, count(*) AS n FROM bids WHERE channel = 'web' GROUP BY bidder) c LEFT JOIN people p ON c.bidder = p.name
