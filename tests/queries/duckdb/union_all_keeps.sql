SELECT auction AS id, bidder AS who, 'bid' AS kind FROM bids UNION ALL SELECT id, seller, 'auction' FROM auctions
