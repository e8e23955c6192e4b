SELECT room, count(DISTINCT device) AS devices, quantile_disc(battery, 0.5) AS median, quantile_cont(battery, 0.25) AS quarter FROM readings GROUP BY room
