SELECT date_trunc('minute', "at") AS minute, count(*) AS "sum(n)", rank() OVER (ORDER BY count(*) DESC) AS r FROM bids GROUP BY 1
