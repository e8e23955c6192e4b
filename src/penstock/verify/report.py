"""What `verify` found, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.verify.compare import Comparison
from penstock.verify.positions import Origin
from penstock.verify.rows import Row

SHOWN_MAX = 10


@dataclass(frozen=True)
class Verdict:
    """One view in one place: the results store (`sink` is None) or a sink.

    `epoch` is how far the place has come and as of which it was compared; `late` counts input rows that the watermark dropped,
    `earlier` what an earlier generation of the view left there. `origins` gives the input positions behind rows, by their text.
    `refused` says why a run would refuse the place: it has lost epochs that were delivered to it, or is ahead of the store.
    `unread` says why the place cannot be read back, and nothing was compared.
    """

    view: str
    sink: str | None
    kind: str
    epoch: int
    found: Comparison
    delivery: str = ""
    late: int = 0
    earlier: int = 0
    behind: int = 0
    origins: Mapping[str, Origin] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    refused: str = ""
    unread: str = ""

    @property
    def equal(self) -> bool:
        return self.found.equal and not self.refused

    @property
    def rows(self) -> int:
        """How many rows are equal."""
        return self.found.rows

    @property
    def missing(self) -> int:
        return len(self.found.missing)

    @property
    def extra(self) -> int:
        return len(self.found.extra)

    @property
    def different(self) -> int:
        return len(self.found.different)

    def __getitem__(self, name: str) -> object:
        """By the names of `as_json`."""
        return self.as_json()[name]

    def __str__(self) -> str:
        return "\n".join(self.in_words())

    @property
    def place(self) -> str:
        return f"{self.view} in the results store" if self.sink is None else f"{self.view} in sink {self.sink} ({self.kind})"

    def as_json(self) -> dict[str, object]:
        """The contract: view, sink, rows, missing, extra, different, equal; and the first faulty rows."""
        return {
            "view": self.view,
            "sink": self.sink,
            "kind": self.kind,
            "epoch": self.epoch,
            "rows": self.found.rows,
            "missing": len(self.found.missing),
            "extra": len(self.found.extra),
            "different": len(self.found.different),
            "equal": None if self.unread else self.equal,
            "late": self.late,
            "earlier": self.earlier,
            "behind": self.behind,
            "delivery": self.delivery,
            "refused": self.refused,
            "faults": [fault for fault, _ in zip(self._faults(), range(SHOWN_MAX), strict=False)],
            "notes": [*self.notes, *([self.unread] if self.unread else [])],
        }

    def _faults(self) -> Iterator[dict[str, object]]:
        for row in self.found.missing:
            yield {"fault": "missing", "expected": row.text, **self._input(row)}
        for row in self.found.extra:
            yield {"fault": "extra", "found": row.text, "place": row.place, **self._input(row)}
        for wanted, held in self.found.different:
            yield {"fault": "different", "expected": wanted.text, "found": held.text, "place": held.place, **self._input(wanted)}

    def _input(self, row: Row) -> dict[str, object]:
        """The epoch and the input records behind a row, where they are known."""
        origin = self.origins.get(row.text)
        return {"epoch": row.epoch, "input": []} if origin is None else {"epoch": origin.epoch, "input": list(origin.places)}

    def in_words(self) -> list[str]:
        if self.unread:
            return [f"  not compared  {self.place}: {self.unread}"]
        head = f"{'equal' if self.equal else 'DIFFERENT':>14}  {self.place}: {_count(self.found.rows, 'row')} equal as of epoch {self.epoch}"
        parts = [
            f"{number} {word}"
            for number, word in ((len(self.found.missing), "missing"), (len(self.found.extra), "extra"), (len(self.found.different), "different"))
            if number
        ]
        if self.late:
            parts.append(f"{_count(self.late, 'late row')} accounted for")
        lines = [", ".join([head, *parts])]
        for number, fault in enumerate(self._faults()):
            if number == SHOWN_MAX:
                lines.append(f"{'':>16}... and more")
                break
            lines.append(f"{'':>16}{_fault_line(fault)}")
            if fault["epoch"] is not None:
                behind = fault["input"] if isinstance(fault["input"], list) else []
                lines.append(f"{'':>16}           of epoch {fault['epoch']}{': ' if behind else ''}{'; '.join(behind)}")
        if self.refused:
            lines.append(f"{'':>16}a run refuses it: {self.refused}")
        if self.behind:
            lines.append(f"{'':>16}the store is {_count(self.behind, 'epoch')} ahead: a run delivers the rest")
        if self.earlier:
            lines.append(f"{'':>16}left out: {_count(self.earlier, 'record')} that an earlier generation of the view left there")
        return lines + [f"{'':>16}{note}" for note in self.notes]


def _fault_line(fault: Mapping[str, object]) -> str:
    match fault["fault"]:
        case "missing":
            return f"missing    {fault['expected']}"
        case "extra":
            return f"extra      {fault['found']}  at {fault['place']}"
        case _:
            return f"different  {fault['found']}  at {fault['place']}, should be {fault['expected']}"


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def proved(verdicts: Sequence[Verdict]) -> bool:
    """Whether something was compared, and all of it is equal: to have looked at nothing proves nothing."""
    return any(not verdict.unread for verdict in verdicts) and all(verdict.equal for verdict in verdicts)


def summary(verdicts: Sequence[Verdict]) -> str:
    """One line for all of them."""
    compared = [verdict for verdict in verdicts if not verdict.unread]
    left_out = f"; {_count(len(verdicts) - len(compared), 'place')} not compared" if len(compared) < len(verdicts) else ""
    wrong = [verdict for verdict in compared if not verdict.equal]
    rows = sum(verdict.found.rows for verdict in compared)
    if not compared:
        return f"NOTHING was verified{left_out}: what a view gives can only be proved where it can be read back"
    if not wrong:
        return f"verified: {_count(rows, 'row')} in {_count(len(compared), 'place')} are what a batch run over the same input gives{left_out}"
    lost = sum(len(verdict.found.missing) for verdict in wrong)
    extra = sum(len(verdict.found.extra) for verdict in wrong)
    other = sum(len(verdict.found.different) for verdict in wrong)
    refused = sum(1 for verdict in wrong if verdict.refused)
    summary = f"NOT equal: {len(wrong)} of {_count(len(compared), 'place')} differ; {lost} missing, {extra} extra, {other} different rows"
    return summary + (f"; a run refuses {_count(refused, 'sink')}" if refused else "") + left_out
