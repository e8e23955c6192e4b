SELECT id, note, length(note) AS letters, trim(note, ' ') AS trimmed, note = '' AS empty, concat_ws('|', note, currency) AS both, instr(note, '\') AS backslash FROM payments
