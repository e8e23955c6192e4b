"""Since when a view's rows are what they are.

A job's generation changes with its checkpoint. A view that follows another, or whose plan changes only above what is stored, gets a generation
of its own while the job goes on: its change log and its sinks start over under a new name, at the epoch as of which it was evaluated.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

_PREFIX = "view "


@dataclass(frozen=True)
class ViewGeneration:
    """What a view's rows were made by: the job and its generation, the view's own fingerprint, the name its change log goes by, and since when."""

    job: str
    job_generation: str
    fingerprint: str
    name: str
    epoch: int
    since: str

    @property
    def text(self) -> str:
        return json.dumps(asdict(self))


def first_of(job: str, job_generation: str, fingerprint: str) -> ViewGeneration:
    """The one that starts with the job's own."""
    return ViewGeneration(job, job_generation, fingerprint, job_generation, 0, datetime.now(UTC).isoformat())


def next_of(job: str, job_generation: str, fingerprint: str, epoch: int) -> ViewGeneration:
    """One that starts while the job goes on, as of an epoch of it."""
    return ViewGeneration(job, job_generation, fingerprint, f"{job_generation}.{uuid.uuid4().hex[:6]}", epoch, datetime.now(UTC).isoformat())


def note_of(view: str) -> str:
    """The name of the note that says it."""
    return f"{_PREFIX}{view}"


def read_generation(text: str | None) -> ViewGeneration | None:
    return None if text is None else ViewGeneration(**json.loads(text))


def read_generations(notes: Mapping[str, str]) -> dict[str, ViewGeneration]:
    """Those of all views, from the store's notes."""
    return {name.removeprefix(_PREFIX): ViewGeneration(**json.loads(text)) for name, text in notes.items() if name.startswith(_PREFIX)}
