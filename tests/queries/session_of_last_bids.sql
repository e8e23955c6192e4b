-- view: session_of_last_bids
-- uses: bids
-- cut: yes
-- run: make golden
-- says: Sessions over kept rows: an auction's last bid moves on, and a row between two sessions joins them.
CREATE MATERIALIZED VIEW session_of_last_bids AS
SELECT session_window.start AS since, count(*) AS n
FROM (SELECT auction, max(at) AS last FROM bids GROUP BY auction) GROUP BY session_window(last, '30 minutes');
