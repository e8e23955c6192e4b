SELECT r.device, r.battery, l.room FROM readings r CROSS JOIN limits l WHERE r.battery < 20
