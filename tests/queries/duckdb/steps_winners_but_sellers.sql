SELECT bidder FROM (SELECT bidder, row_number() OVER (PARTITION BY auction ORDER BY price DESC, "at", bidder) AS place FROM bids) w WHERE place = 1
EXCEPT ALL
SELECT seller FROM auctions
