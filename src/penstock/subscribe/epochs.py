"""Epochs as readers see them, for whoever reads rows or changes of a view; `store.numbers` says what they are."""

from __future__ import annotations

import threading
from typing import Protocol

from penstock.store.numbers import numbers_note, read_numbers


class Notes(Protocol):
    """Small durable facts."""

    def noted(self, name: str) -> str | None: ...


class PublicEpochs:
    """One per store; any thread may ask. What was found of a generation holds for good, so it is read once."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._first: dict[tuple[str, str], int] = {}
        self._guard = threading.Lock()

    def public(self, view: str, generation: str, epoch: int) -> int:
        """The number that readers see for an epoch of one of the view's generations; without one, the last that there was."""
        if not generation or epoch < 0:
            return read_numbers(self._notes.noted(numbers_note(view))).of(generation, epoch)
        with self._guard:
            if (view, generation) not in self._first:
                self._first[view, generation] = read_numbers(self._notes.noted(numbers_note(view))).of(generation, 0)
            return self._first[view, generation] + epoch
