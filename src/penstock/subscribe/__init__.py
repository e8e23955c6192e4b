"""Who is watching: a snapshot of a view, then every change, from any place at which a reader left off."""
