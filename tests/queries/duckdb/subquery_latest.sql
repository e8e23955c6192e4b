SELECT device, "at", temp FROM readings r WHERE "at" = (SELECT max("at") FROM readings x WHERE x.device = r.device)
