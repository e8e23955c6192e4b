"""Faults against a running app, from a seed, while a reader watches that nothing is lost, doubled, taken back or half there.

Reading order: `faults` (what can go wrong), `plan` (a seed's list of them), `apps` and `parts` (what it happens to), `feeder` (numbered
rows in), `driver` (the process that suffers), `inject` (how each fault is done), `follow` and `sinks` (the reader), `logs` (what may be
in the logs), `run` (one seed from start to verdict), `report`, `suite` (every fault and seed), `verb` (the command).
"""
