-- Payments with the place of the shop.
CREATE STREAM payments (id INT, card STRING, amount DOUBLE, lat DOUBLE, lon DOUBLE, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 10 SECONDS)
  WITH (connector = 'files', path = 'input', format = 'json');

-- A stolen card is tried with small amounts before the large one.
CREATE MATERIALIZED VIEW card_testing AS
  SELECT * FROM payments MATCH_RECOGNIZE (
    PARTITION BY card ORDER BY at
    MEASURES first(small.at) AS since, big.at AS until, count(small.*) AS tries, big.amount AS amount
    AFTER MATCH SKIP PAST LAST ROW
    PATTERN (small{3,} big) WITHIN INTERVAL '10' MINUTE
    DEFINE small AS amount < 2, big AS amount > 500);

-- Two payments so far apart that nobody travels between them in the time: faster than 1000 km/h, by the great circle.
CREATE MATERIALIZED VIEW impossible_travel AS
  SELECT * FROM payments MATCH_RECOGNIZE (
    PARTITION BY card ORDER BY at
    MEASURES here.at AS left_at, there.at AS seen_at, there.amount AS amount
    AFTER MATCH SKIP TO LAST there
    PATTERN (here there) WITHIN INTERVAL '6' HOUR
    DEFINE there AS 12742 * asin(sqrt(power(sin((radians(there.lat) - radians(here.lat)) / 2), 2)
        + cos(radians(here.lat)) * cos(radians(there.lat)) * power(sin((radians(there.lon) - radians(here.lon)) / 2), 2)))
      > 1000 * (unix_timestamp(there.at) - unix_timestamp(here.at)) / 3600 + 10);
