-- Log to a file system: each bid with the day and the minute that its partition is named by.
CREATE MATERIALIZED VIEW q10 AS
SELECT auction, bidder, price, dateTime, extra, date_format(dateTime, 'yyyy-MM-dd') AS dt, date_format(dateTime, 'HH:mm') AS hm FROM bid;
