-- view: group_constant
-- uses: bids
-- cut: no
-- run: make golden
-- says: A group that is an integer constant is no place in the select list.
CREATE MATERIALIZED VIEW group_constant AS
SELECT 2024 AS year, 3 AS version, channel, count(*) AS n FROM bids GROUP BY 1, version, (channel);
