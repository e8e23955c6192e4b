"""`python -m penstock` is the command `penstock`."""

from __future__ import annotations

from penstock.cli import main

main()
