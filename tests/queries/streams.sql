-- The inputs of the golden queries. A query names the ones it reads in its `-- uses:` line; queries of one set run in one app.

-- set: market
CREATE STREAM bids (
  auction BIGINT, bidder STRING, price BIGINT, channel STRING, at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL 5 MINUTES
) WITH (connector = 'files', path = '{data}/bids', format = 'json');

CREATE STREAM auctions (
  id BIGINT, seller STRING, category STRING, reserve BIGINT, at TIMESTAMP, expires TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL 5 MINUTES
) WITH (connector = 'files', path = '{data}/auctions', format = 'json');

CREATE TABLE people (name STRING, city STRING, vip BOOLEAN)
  WITH (connector = 'files', path = '{data}/people.csv', format = 'csv', header = 'true');

-- set: web
CREATE STREAM searches (
  who STRING, words STRING, at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL 10 MINUTES
) WITH (connector = 'files', path = '{data}/searches', format = 'json');

CREATE STREAM clicks (
  who STRING, url STRING, ms INT, at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL 10 MINUTES
) WITH (connector = 'files', path = '{data}/clicks', format = 'json');

CREATE TABLE pages (path STRING, section STRING, owner STRING)
  WITH (connector = 'files', path = '{data}/pages.csv', format = 'csv', header = 'true');

-- set: pay
CREATE STREAM payments (
  id STRING, card STRING, amount DECIMAL(12,2), currency STRING, note STRING, at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL 2 MINUTES
) WITH (connector = 'files', path = '{data}/payments', format = 'json');

CREATE TABLE cards (card STRING, country STRING, holder STRING)
  WITH (connector = 'files', path = '{data}/cards.csv', format = 'csv', header = 'true');

CREATE TABLE rates (currency STRING, rate DECIMAL(10,4))
  WITH (connector = 'files', path = '{data}/rates.csv', format = 'csv', header = 'true');

-- set: sensors
CREATE STREAM readings (
  device STRING, room STRING, temp DOUBLE, battery INT, at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL 10 MINUTES
) WITH (connector = 'files', path = '{data}/readings', format = 'json');

CREATE TABLE limits (room STRING, low DOUBLE, high DOUBLE)
  WITH (connector = 'files', path = '{data}/limits.csv', format = 'csv', header = 'true');

-- set: sessions
CREATE STREAM visits (
  visitor STRING, page STRING, spent INT, at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL 2 MINUTES
) WITH (connector = 'files', path = '{data}/visits', format = 'json');

-- set: words
CREATE STREAM lines (
  id INT, text STRING, tags ARRAY<STRING>, props MAP<STRING, INT>, author STRUCT<name: STRING, age: INT>, at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL 1 HOUR
) WITH (connector = 'files', path = '{data}/lines', format = 'json');

CREATE TABLE stopwords (word STRING)
  WITH (connector = 'files', path = '{data}/stopwords.csv', format = 'csv', header = 'true');

-- set: odd
CREATE STREAM orders (
  `Order Id` INT, `Größe` STRING, `Unit Price` DECIMAL(8,3), qty INT, flag BOOLEAN, day DATE, at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL 5 MINUTES
) WITH (connector = 'files', path = '{data}/orders', format = 'json');
