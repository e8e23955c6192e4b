SELECT a.category, count(*) AS n, avg(b.price) AS mean FROM bids b JOIN auctions a ON b.auction = a.id GROUP BY a.category
