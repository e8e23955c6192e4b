SELECT count(*) AS n, count(channel) AS with_channel, sum(price) AS total, min(price) AS low, max(price) AS high, min("at") AS since, max("at") AS until FROM bids
