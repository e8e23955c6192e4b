-- windows: w = readings size 20 minutes
SELECT "window"."start" AS since, stddev(temp) AS sd, arg_max(battery, row("at", battery)) AS latest, arg_min_null(device, row("at", battery)) AS first_device, coalesce(list_sort(list(DISTINCT room) FILTER (WHERE room IS NOT NULL)), []) AS rooms FROM w WHERE "window"."end" <= mark('readings') GROUP BY ALL
