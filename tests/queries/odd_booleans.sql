-- view: odd_booleans
-- uses: orders
-- cut: no
-- run: make golden
-- says: Aggregates of booleans with nulls, and dates as keys.
CREATE MATERIALIZED VIEW odd_booleans AS
SELECT day, every(flag) AS all_set, some(flag) AS some_set, count_if(flag) AS set, count_if(NOT flag) AS unset FROM orders GROUP BY day;
