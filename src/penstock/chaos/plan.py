"""A seed's list of faults: made before anything runs, printed, and the same every time."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.chaos.faults import Fault

_FAULTS_A_MINUTE = 3
_CALM_S = (1.0, 5.0)


@dataclass(frozen=True)
class Step:
    """One fault: after `calm_s` of peace; `choice` decides whatever about it is left to chance."""

    number: int
    fault: Fault
    calm_s: float
    choice: int

    def __str__(self) -> str:
        return f"{self.number:>3}  {self.fault.name:<26} after {self.calm_s:.1f} s, choice {self.choice}"


def plan(seed: int, faults: Sequence[Fault], minutes: float | None = None) -> list[Step]:
    """Every fault at least once, in an order of the seed's; with `minutes`, as many more as that time holds.

    Kill points stand together: each needs a driver that was started for it, which is also the one that recovers from the last.
    """
    if not faults:
        return []
    chance = random.Random(f"penstock chaos {seed}")
    wanted = max(len(faults), round((minutes or 0) * _FAULTS_A_MINUTE))
    order: list[Fault] = []
    while len(order) < wanted:
        order += _round(chance, faults)
    return [
        Step(number, fault, round(chance.uniform(*_CALM_S), 1), chance.randrange(1 << 16)) for number, fault in enumerate(order[:wanted], start=1)
    ]


def _round(chance: random.Random, faults: Sequence[Fault]) -> list[Fault]:
    points = [fault for fault in faults if fault.point]
    others = [fault for fault in faults if not fault.point]
    chance.shuffle(points)
    chance.shuffle(others)
    at = chance.randint(0, len(others))
    return [*others[:at], *points, *others[at:]]
