SELECT b.auction, b.bidder, p.city, p.vip FROM bids AS b LEFT JOIN people AS p ON b.bidder = p.name AND p.vip
