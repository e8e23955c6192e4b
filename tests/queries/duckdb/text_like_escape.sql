SELECT id, note FROM payments WHERE note LIKE '%\%%' ESCAPE '\' OR note ILIKE 'NAÏVE%' OR regexp_matches(note, '^say .hi.$') OR currency IN ('XXX')
