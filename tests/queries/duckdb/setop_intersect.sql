SELECT bidder AS who FROM bids INTERSECT SELECT seller FROM auctions
