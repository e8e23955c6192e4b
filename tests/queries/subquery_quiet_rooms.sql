-- view: subquery_quiet_rooms
-- uses: readings, limits
-- cut: yes
-- run: make golden
-- says: Rooms of a table without any reading.
CREATE MATERIALIZED VIEW subquery_quiet_rooms AS
SELECT room, high FROM limits l WHERE NOT EXISTS (SELECT 1 FROM readings r WHERE r.room = l.room);
