-- windows: w = bids size 30 minutes
SELECT w."window"."start" AS window_start, w."window"."end" - INTERVAL 1 MICROSECOND AS window_time, p.city, sum(w.price) AS total
FROM w LEFT JOIN people p ON w.bidder = p.name AND p.vip WHERE w."window"."end" <= mark('bids') GROUP BY ALL
