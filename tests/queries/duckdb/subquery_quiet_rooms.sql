SELECT room, high FROM limits l WHERE NOT EXISTS (SELECT 1 FROM readings r WHERE r.room = l.room)
