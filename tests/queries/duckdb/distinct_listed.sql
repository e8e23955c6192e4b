SELECT auction, array_to_string(list_sort(list(DISTINCT bidder) FILTER (bidder IS NOT NULL)), ', ') AS bidders, count(*) AS n FROM bids GROUP BY auction
