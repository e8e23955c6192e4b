SELECT b.auction, b.bidder, b.price FROM bids b JOIN (SELECT auction, max(price) AS top FROM bids GROUP BY auction) m ON b.auction = m.auction AND b.price = m.top
