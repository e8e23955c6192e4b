"""Records become typed rows; what does not decode keeps its reason, its bytes and its position.

`decode` never drops a row and never fails on one: a row is good where `__reason` is NULL.
"""

from penstock.decode.dead import could_be_read, dead_rows, originals
from penstock.decode.locate import as_encoded, locate_lines
from penstock.decode.reasons import CLOCK
from penstock.decode.rows import Described, Rules, decode

__all__ = ["CLOCK", "Described", "Rules", "as_encoded", "could_be_read", "dead_rows", "decode", "locate_lines", "originals"]
