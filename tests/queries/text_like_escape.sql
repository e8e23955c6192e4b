-- view: text_like_escape
-- uses: payments
-- cut: no
-- run: make golden
-- says: LIKE with a percent sign that means itself, ILIKE, RLIKE and IN.
CREATE MATERIALIZED VIEW text_like_escape AS
SELECT id, note FROM payments WHERE note LIKE '%\%%' OR note ILIKE 'NAÏVE%' OR note RLIKE '^say .hi.$' OR currency IN ('XXX');
