SELECT who, "at", 'search' AS kind, words AS detail, CAST(NULL AS INT) AS ms FROM searches UNION ALL SELECT who, "at", 'click', url, ms FROM clicks
