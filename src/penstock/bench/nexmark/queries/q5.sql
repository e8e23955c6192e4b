-- Hot items: the auctions with the most bids in the last ten seconds, every two seconds.
-- The windows are given out too, so that rows of different windows can be told apart.
CREATE MATERIALIZED VIEW q5 AS
SELECT c.auction, c.num, c.starttime, c.endtime
FROM (
  SELECT auction, count(*) AS num, window_start AS starttime, window_end AS endtime
  FROM TABLE(HOP(TABLE bid, DESCRIPTOR(dateTime), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
  GROUP BY auction, window_start, window_end
) c JOIN (
  SELECT max(n.num) AS maxn, n.starttime, n.endtime
  FROM (
    SELECT count(*) AS num, window_start AS starttime, window_end AS endtime
    FROM TABLE(HOP(TABLE bid, DESCRIPTOR(dateTime), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
    GROUP BY auction, window_start, window_end
  ) n
  GROUP BY n.starttime, n.endtime
) m ON c.starttime = m.starttime AND c.endtime = m.endtime AND c.num >= m.maxn;
