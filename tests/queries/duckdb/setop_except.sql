SELECT auction FROM bids EXCEPT SELECT id FROM auctions
