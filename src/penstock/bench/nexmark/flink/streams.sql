CREATE TABLE person (
  id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, state STRING, `dateTime` TIMESTAMP_LTZ(3), extra STRING,
  WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '4' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{data}/person', 'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601');

CREATE TABLE auction (
  id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT, `dateTime` TIMESTAMP_LTZ(3), expires TIMESTAMP_LTZ(3),
  seller BIGINT, category BIGINT, extra STRING,
  WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '4' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{data}/auction', 'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601');

CREATE TABLE bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, `dateTime` TIMESTAMP_LTZ(3), extra STRING,
  WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '4' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{data}/bid', 'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601');

CREATE TABLE side_input (`key` BIGINT, `value` STRING)
  WITH ('connector' = 'filesystem', 'path' = '{data}/side_input.csv', 'format' = 'csv', 'csv.ignore-parse-errors' = 'true');
