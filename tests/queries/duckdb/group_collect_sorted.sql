SELECT auction, list_sort(list(DISTINCT bidder)) AS bidders, list_sort(list(price), 'DESC') AS prices FROM bids GROUP BY auction
