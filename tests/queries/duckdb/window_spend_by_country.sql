-- windows: w = payments size 60 minutes step 10 minutes
SELECT "window", country, sum(amount) AS total FROM w JOIN cards USING (card) WHERE "window"."end" <= mark('payments') GROUP BY ALL
