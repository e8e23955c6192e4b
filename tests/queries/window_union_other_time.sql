-- view: window_union_other_time
-- uses: bids
-- cut: no
-- run: make golden
-- says: A union of the event time and another time: no watermark judges the other one.
CREATE MATERIALIZED VIEW window_union_other_time AS
SELECT window(t, '30 minutes').start AS since, count(*) AS n FROM (SELECT at AS t FROM bids UNION ALL SELECT at - INTERVAL 1 HOUR FROM bids)
GROUP BY window(t, '30 minutes');
