SELECT bidder AS who FROM bids UNION SELECT seller FROM auctions
