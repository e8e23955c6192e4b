SELECT b.auction, b.bidder, b.price, a.seller, a.category FROM bids b JOIN auctions a ON b.auction = a.id
