"""What must agree before a job runs: Spark's checkpoint, the ledger of the results store, and the place of every sink.

    commit log <= ledger <= offset log        the store commits an epoch after Spark has planned it, Spark after the store
    place confirmed <= sink <= ledger         a sink gets what the store has; what it has confirmed it still has
    ledger <= sink <= ledger + 1              where no store is kept: the sink has an epoch first, and nobody gives it a missed one
    generation of the rows = generation of the ledger     and of this state folder, where a generation begins

Copies of different age, and damaged or missing files, break this. Then the job is refused: going on would lose or repeat rows.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path

from penstock.catalog import Generation
from penstock.errors import StateError
from penstock.source.files.log import entry_of
from penstock.spark.checkpoint.offset_log import read_epoch
from penstock.store.protocol import RowOwner

_CONTIGUOUS = 50  # Spark keeps a hundred; a crash while it removes older ones leaves holes among those
_CRC_HEADER = b"crc\x00"
_TARGET = ("database", "table", "topic", "path")  # the options that say where a sink delivers to, however it gets there


def check_checkpoint(checkpoint: Path) -> tuple[int, int]:
    """The last epoch in the commit log and in the offset log, -1 where there is none; StateError naming what is damaged or missing."""
    offsets, commits = _numbers(checkpoint / "offsets"), _numbers(checkpoint / "commits")
    planned, committed = max(offsets, default=-1), max(commits, default=-1)
    if offsets or commits:
        _check_metadata(checkpoint / "metadata")
    for kind, numbers in (("offsets", offsets), ("commits", commits)):
        newest = max(numbers, default=-1)
        for number in range(max(min(numbers, default=0), newest - _CONTIGUOUS), newest):
            if number not in numbers:
                raise _damaged(checkpoint / kind / str(number), "is missing, though later epochs are there")
    if committed > planned:
        raise _damaged(checkpoint / "offsets" / str(committed), f"is missing, though {checkpoint / 'commits' / str(committed)} is there")
    if planned > committed + 1:
        raise _damaged(checkpoint / "commits" / str(planned - 1), f"is missing, though epoch {planned} was planned after it")
    for number in sorted(offsets):
        _check_sum(checkpoint / "offsets" / str(number))
        _check_sources(checkpoint, read_epoch(checkpoint, number).ends)
    for number in sorted(commits):
        _check_commit(checkpoint / "commits" / str(number))
    return committed, planned


def check_ledger(job: str, checkpoint: Path, ledger: int) -> None:
    """StateError when the results store and the checkpoint cannot be of the same moment."""
    committed, planned = check_checkpoint(checkpoint)
    if committed <= ledger <= planned:
        return
    older = "results store" if ledger < committed else "checkpoint"
    where = f"penstock_ledger, job `{job}`" if ledger < committed else str(checkpoint / "offsets" / str(planned + 1))
    what = f"its last row there says {ledger}" if ledger < committed else "that file is not there"
    raise StateError(
        f"job `{job}`: the results store has epoch {ledger}, but {checkpoint} has committed {committed} and planned {planned};"
        f" the {older} seems to be an older copy ({where}: {what})",
        hint=f"restore both from copies of the same moment, or remove {checkpoint} to rebuild the view from history",
    )


def of_another_generation(job: str, generation: Generation, held: RowOwner) -> StateError:
    """What to raise when the results store holds what another generation of the job made."""
    here = generation.checkpoint.parents[2]
    if held.folder == generation.folder:
        return StateError(
            f"job `{job}`: the results store holds the rows of a later generation of it ({held.generation}) than {generation.checkpoint} is;"
            f" the state folder {here} seems to be an older copy",
            hint=f"restore the newer one, or remove {generation.checkpoint} to rebuild the view from history",
        )
    handed = f"UPDATE penstock_owners SET folder = '{generation.folder}' WHERE folder = '{held.folder}' in the results store"
    rebuild = handed if generation.fresh or not _numbers(generation.checkpoint / "commits") else f"remove {generation.checkpoint} and {handed}"
    return StateError(
        f"job `{job}`: the results store holds the rows that the state folder {held.place} made;"
        f" a run with {here} would mix them with its own or replace them",
        hint=f"run with that state folder, or set `store` to another database; to give those rows up and build the view from history here: {rebuild}",
    )


def names_in_store(sink: str, view: str, options: Mapping[str, str], ledger: str) -> tuple[str, str]:
    """What a sink's place is confirmed under: sink, view and target where it keeps no ledger, and the ledger too where it does.

    Moved elsewhere, or given another view, it begins there. Both are to be looked up, for it may have delivered to the same place with
    another guarantee before.
    """
    target = " ".join(options[name] for name in _TARGET if name in options)
    plain = f"{sink} of {view}{' to ' if target else ''}{target}"
    return plain, f"{plain}, {ledger}"


def furthest(ledger: int, *, stored: bool) -> int:
    """How far a sink can be: without a store it has an epoch before the ledger has it."""
    return ledger if stored else ledger + 1


def nearest(ledger: int, *, stored: bool) -> int:
    """How far a sink must be: without a store there is nothing from which it could be given what it missed."""
    return -1 if stored else ledger


def check_place(sink: str, view: str, place: str, *, at: int, confirmed: int, ledger: int, checkpoint: Path, least: int = -1) -> None:
    """StateError when a sink is further than the store, has lost what was confirmed to be in it, or missed what nobody can give it."""
    found = fault_of_place(sink, view, place, at=at, confirmed=confirmed, ledger=ledger, checkpoint=checkpoint, least=least)
    if found is not None:
        raise found


def fault_of_place(sink: str, view: str, place: str, *, at: int, confirmed: int, ledger: int, checkpoint: Path, least: int = -1) -> StateError | None:
    """What is wrong with where a sink is. None: all is well.

    `at` by its own word, `confirmed` by the store's, `ledger` at the furthest, `least` at the nearest.
    """
    rebuild = f"remove {checkpoint}: the view then starts over, here and in the sink"
    if at > ledger:
        return StateError(
            f"sink `{sink}` has epoch {at} of view `{view}`, but the results store only {ledger} ({place})",
            hint=f"the state folder seems to be an older copy: restore the newer one, or give the sink another name and place, or {rebuild}",
        )
    if at < confirmed:
        return StateError(
            f"sink `{sink}` has view `{view}` up to epoch {at}, but epochs up to {confirmed} were delivered to it ({place})",
            hint="it was restored from an older copy, emptied, or delivered to with another guarantee before:"
            f" restore the newer copy, or give the sink another name and place, or {rebuild}",
        )
    if at < least:
        missed = f"epoch {least}" if at + 1 == least else f"epochs {at + 1} to {least}"
        return StateError(
            f"sink `{sink}` misses {missed} of view `{view}`, which keeps no store to deliver them from ({place})",
            hint="it was added, or put back, after they had run: give it a view of its own with the same query, which begins at the beginning;"
            f" or take it out; or {rebuild}, and in the view's other sinks, which have its rows twice unless they are exactly-once",
        )
    return None


def _numbers(folder: Path) -> set[int]:
    return {int(entry.name) for entry in folder.iterdir() if entry.name.isdigit()} if folder.is_dir() else set()


def _check_metadata(path: Path) -> None:
    if not path.is_file():
        raise _damaged(path, "is missing, though epochs are there")
    _check_sum(path)
    try:
        if not json.loads(path.read_text(encoding="utf-8")).get("id"):
            raise ValueError("it names no query")
    except (OSError, ValueError, AttributeError) as error:
        raise _damaged(path, f"cannot be read: {error}") from error


def _check_commit(path: Path) -> None:
    _check_sum(path)
    try:
        version, *entries = path.read_text(encoding="utf-8").split("\n")
        if version not in ("v1", "v2") or not entries:
            raise ValueError(f"it begins with {version[:20]!r}")
        json.loads(entries[0])
    except (OSError, ValueError) as error:
        raise _damaged(path, f"cannot be read: {error}") from error


def _check_sources(checkpoint: Path, ends: tuple[str | None, ...]) -> None:
    """A source of files logs what it has read in files of its own."""
    entries = {place: entry_of(end) or 0 for place, end in enumerate(ends) if end is not None and end.startswith("{") and "logOffset" in end}
    numbers = sorted(_numbers(checkpoint / "sources"))
    for place, entry in entries.items():
        # Of a stream that stands twice in a union Spark makes one source with two places in the offset log; which they are is not logged.
        logs = [checkpoint / "sources" / str(number) for number in (numbers if len(numbers) < len(ends) else [place])]
        if not any(_has_entry(log, entry) for log in logs):
            raise _damaged(checkpoint / "sources" / str(place) / str(entry), "is missing, though an epoch was made of it")


def _has_entry(log: Path, entry: int) -> bool:
    """Whether a source's log has what it read then, as it wrote it."""
    found = [path for path in (log / f"{entry}{ending}" for ending in ("", ".compact")) if path.is_file()]
    for path in found:
        _check_sum(path)
    return bool(found) or _removed_in_time(log, entry)


def _removed_in_time(log: Path, entry: int) -> bool:
    """A later compacted entry repeats all earlier ones, which Spark then removes."""
    return any(int(path.name.removesuffix(".compact")) > entry for path in log.glob("*.compact") if path.name.removesuffix(".compact").isdigit())


def _check_sum(path: Path) -> None:
    """Compare a file with the sums that Hadoop's local file system keeps beside it, if it does."""
    try:
        kept = path.with_name(f".{path.name}.crc").read_bytes()
    except OSError:
        return
    if not kept.startswith(_CRC_HEADER):
        return
    size, content = int.from_bytes(kept[4:8], "big"), path.read_bytes()
    sums = b"".join(zlib.crc32(content[at : at + size]).to_bytes(4, "big") for at in range(0, len(content), size))
    if sums != kept[8:]:
        raise _damaged(path, "was changed or cut short: it does not match its checksum")


def _damaged(path: Path, how: str) -> StateError:
    return StateError(
        f"{path} {how}",
        hint=f"restore the checkpoint from a copy, or remove {_checkpoint_of(path)} to rebuild the view from history",
    )


def _checkpoint_of(path: Path) -> Path:
    return path.parent if path.name == "metadata" else path.parent.parent.parent if path.parent.parent.name == "sources" else path.parent.parent
