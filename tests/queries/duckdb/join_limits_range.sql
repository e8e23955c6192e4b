SELECT r.device, r.room, r.temp, l.low, l.high FROM readings r JOIN limits l ON r.room = l.room AND (r.temp < l.low OR r.temp > l.high)
