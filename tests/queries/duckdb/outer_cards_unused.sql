SELECT card, holder FROM cards WHERE card NOT IN (SELECT card FROM payments WHERE card IS NOT NULL)
