-- view: text_urls
-- uses: clicks
-- cut: no
-- run: make golden
-- says: Parts of an address.
CREATE MATERIALIZED VIEW text_urls AS
SELECT parse_url(url, 'HOST') AS host, parse_url(url, 'QUERY', 'id') AS id, split(url, '/')[0] AS scheme, regexp_extract(url, '[?&]ref=([a-z])', 1) AS ref FROM clicks;
