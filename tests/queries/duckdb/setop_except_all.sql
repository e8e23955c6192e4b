SELECT bidder AS who FROM bids EXCEPT ALL SELECT seller FROM auctions
