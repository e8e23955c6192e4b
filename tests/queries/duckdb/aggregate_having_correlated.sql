SELECT room, device, avg(temp) AS mean, count(*) AS n FROM readings GROUP BY room, device
HAVING avg(temp) > (SELECT max(high) FROM limits l WHERE l.room = readings.room) AND room IN (SELECT room FROM limits WHERE low < 10)
