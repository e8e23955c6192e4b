-- view: text_notes
-- uses: payments
-- cut: no
-- says: Escapes, tabs, backslashes, empty strings and nulls in data.
CREATE MATERIALIZED VIEW text_notes AS
SELECT id, note, length(note) AS letters, trim(note) AS trimmed, note = '' AS empty, concat_ws('|', note, currency) AS both, instr(note, '\\') AS backslash FROM payments;
