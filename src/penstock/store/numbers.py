"""Epochs as readers see them: they never go back, not over restarts nor when a view is replaced, rebuilt, or dropped and made again.

A job's epochs start at 0 with each generation. What readers see is that number plus a base, above all that was there before. The base is noted
in the transaction that takes the log of the generation before away; so every process reads the same numbers, and nobody has to keep them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

_FORMER_KEPT = 8


@dataclass(frozen=True)
class Numbers:
    """`base` is that of the generation whose rows are there now; the last ones before it are known by name, for readers that are late."""

    base: int = 0
    former: Mapping[str, int] = field(default_factory=dict)

    def of(self, generation: str, epoch: int) -> int:
        """The number that readers see for an epoch; where there is none yet, the last one before."""
        return self.former.get(generation, self.base) + epoch if generation and epoch >= 0 else self.base - 1

    def after(self, generation: str, last: int) -> Numbers:
        """Once `generation`, whose last epoch this was, has gone."""
        known = {**self.former, generation: self.base}
        return Numbers(self.base + last + 1, dict(list(known.items())[-_FORMER_KEPT:]))

    @property
    def text(self) -> str:
        return json.dumps({"base": self.base, "former": dict(self.former)})


def numbers_note(view: str) -> str:
    """The name of the note that holds them."""
    return f"epochs {view}"


def read_numbers(text: str | None) -> Numbers:
    return Numbers() if text is None else Numbers(**json.loads(text))
