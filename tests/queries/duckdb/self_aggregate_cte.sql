WITH counts AS (SELECT bidder, count(*) AS n FROM bids GROUP BY bidder)
SELECT a.bidder AS one, b.bidder AS other, a.n - b.n AS lead FROM counts a JOIN counts b ON a.n >= b.n AND a.bidder <> b.bidder
