-- view: project_star
-- uses: bids
-- cut: no
-- says: SELECT * keeps the order of columns, duplicates and nulls.
CREATE MATERIALIZED VIEW project_star AS
SELECT * FROM bids;
