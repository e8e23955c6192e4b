SELECT b.auction, b.bidder, b.price, p.city FROM bids b JOIN people p ON b.bidder = p.name
