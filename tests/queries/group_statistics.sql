-- view: group_statistics
-- uses: payments
-- cut: no
-- run: make golden
-- says: Deviation, variance, skew-free statistics of a column with nulls.
CREATE MATERIALIZED VIEW group_statistics AS
SELECT currency, stddev(CAST(amount AS DOUBLE)) AS sd, var_pop(CAST(amount AS DOUBLE)) AS vp, stddev_pop(CAST(amount AS DOUBLE)) AS sp, corr(CAST(amount AS DOUBLE), CAST(hour(at) AS DOUBLE)) AS c FROM payments WHERE currency <> 'XXX' GROUP BY currency;
