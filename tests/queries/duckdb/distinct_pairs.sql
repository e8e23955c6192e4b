SELECT DISTINCT auction, channel FROM bids
