SELECT auction, bidder FROM bids EXCEPT SELECT id, seller FROM auctions
