-- A shop: what people look at and what they pay, made up by the generator, and six views kept up to date.
-- Event time runs 120 times faster than the clock: half a minute of running is an hour of the shop.
-- Change any line and run it again: penstock check . && penstock run .

CREATE STREAM clicks (
  visitor STRING, page STRING, ms INT, at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL 1 MINUTE
) WITH (
  connector = 'generator', seed = '7', rows_per_second = '240', step = '500 milliseconds', start = '2026-01-05T08:00:00Z',
  keys = '400', skew = '0.8', disorder = '20 seconds',
  visitor = 'concat(''v'', key)',
  page = 'element_at(array(''/'', ''/search'', ''/product'', ''/cart'', ''/checkout'', ''/help''), 1 + cast(6 * r1 * r1 as int))',
  ms = 'cast(20 + 400 * r2 * r2 * r2 as int)'
);

CREATE STREAM payments (
  id BIGINT, visitor STRING, country STRING, category STRING, product STRING, amount DECIMAL(12,2), at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL 1 MINUTE
) WITH (
  connector = 'generator', seed = '11', rows_per_second = '60', step = '2 seconds', start = '2026-01-05T08:00:00Z',
  keys = '400', skew = '0.8', disorder = '20 seconds',
  id = 'n',
  visitor = 'concat(''v'', key)',
  country = 'element_at(array(''DE'', ''FR'', ''IT'', ''ES'', ''PL'', ''NL'', ''SE''), 1 + cast(7 * r1 * r1 as int))',
  category = 'element_at(array(''books'', ''garden'', ''music''), 1 + cast(3 * r2 as int))',
  product = 'concat(element_at(array(''book'', ''tool'', ''disc''), 1 + cast(3 * r2 as int)), ''-'', cast(20 * r3 * r3 as int))',
  amount = 'cast(2 + 180 * r4 * r4 as decimal(12,2))'
);

CREATE TABLE countries (country STRING, name STRING, region STRING)
  WITH (connector = 'files', path = 'countries.csv', format = 'csv', header = 'true');

-- The moving average over the last hour, every 10 minutes; given out once, when no row of the hour can come any more.
CREATE MATERIALIZED VIEW moving_average AS
  SELECT window.end AS hour_to, round(avg(amount), 2) AS average, count(*) AS payments
  FROM payments
  GROUP BY window(at, '1 hour', '10 minutes')
  EMIT ON WINDOW CLOSE;

-- What is looked at most in each quarter of an hour.
CREATE MATERIALIZED VIEW top_pages AS
  SELECT window.start AS since, page, count(*) AS views, round(avg(ms), 1) AS avg_ms
  FROM clicks
  GROUP BY window(at, '15 minutes'), page
  EMIT CHANGES;

-- Payments joined with a table.
CREATE MATERIALIZED VIEW sales_by_country AS
  SELECT region, name AS country, count(*) AS payments, sum(amount) AS total
  FROM payments JOIN countries USING (country)
  GROUP BY region, name
  EMIT CHANGES;

-- A visit ends after ten quiet minutes.
CREATE MATERIALIZED VIEW sessions AS
  SELECT visitor, session_window.start AS since, session_window.end AS until, count(*) AS clicks
  FROM clicks
  GROUP BY visitor, session_window(at, '10 minutes')
  EMIT ON WINDOW CLOSE;

-- One row that is always right.
CREATE MATERIALIZED VIEW turnover AS
  SELECT count(*) AS payments, sum(amount) AS total, max(amount) AS largest
  FROM payments
  EMIT CHANGES;

-- A ranking, which Spark does not keep on a stream by itself: Penstock cuts the plan and ranks the kept sums.
CREATE MATERIALIZED VIEW best_products AS
  SELECT category, rank, product, total FROM (
    SELECT category, product, total, row_number() OVER (PARTITION BY category ORDER BY total DESC, product) AS rank
    FROM (SELECT category, product, sum(amount) AS total FROM payments GROUP BY category, product))
  WHERE rank <= 3;
