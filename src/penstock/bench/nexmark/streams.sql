CREATE STREAM person (
  id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, state STRING, dateTime TIMESTAMP, extra STRING,
  WATERMARK FOR dateTime AS dateTime - INTERVAL 4 SECONDS
) WITH (connector = 'files', path = '{data}/person', format = 'json');

CREATE STREAM auction (
  id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT, dateTime TIMESTAMP, expires TIMESTAMP,
  seller BIGINT, category BIGINT, extra STRING,
  WATERMARK FOR dateTime AS dateTime - INTERVAL 4 SECONDS
) WITH (connector = 'files', path = '{data}/auction', format = 'json');

CREATE STREAM bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime TIMESTAMP, extra STRING,
  WATERMARK FOR dateTime AS dateTime - INTERVAL 4 SECONDS
) WITH (connector = 'files', path = '{data}/bid', format = 'json');

CREATE TABLE side_input (key BIGINT, value STRING)
  WITH (connector = 'files', path = '{data}/side_input.csv', format = 'csv', header = 'true');
