-- view: group_global
-- uses: bids
-- cut: no
-- says: An aggregate without keys is one row.
CREATE MATERIALIZED VIEW group_global AS
SELECT count(*) AS n, count(channel) AS with_channel, sum(price) AS total, min(price) AS low, max(price) AS high, min(at) AS since, max(at) AS until FROM bids;
