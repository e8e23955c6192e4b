"""The keyed operator: the rows of a key in order, with state that lasts from one epoch to the next."""
