"""A declaration that reads what a sample shows, and what it assumes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.errors import SourceError
from penstock.formats import EPOCHS
from penstock.source.infer.delimited import delimited
from penstock.source.infer.json_records import columns_of, is_other_json, json_records, quoted
from penstock.source.infer.parquet_columns import parquet_columns
from penstock.source.infer.sample import Sample, read_sample
from penstock.source.infer.types import Kind, is_timely

_FILES_MAX = 10
_SURELY_CSV = (".csv", ".tsv", ".psv")
_RESERVED = frozenset(
    "all and as at authorization between both by case cast check column comment create cross current date default delete desc describe distinct "
    "drop else end except exists false fetch filter for foreign from full grant group having in index inner insert intersect interval into is "
    "join key language lateral leading left like limit natural not null of on only or order outer over overlaps partition primary range "
    "references right row rows select session set some start stream sum table then time timestamp to trailing true type union unique update "
    "user using value values view watermark when where window with".split()
)


@dataclass(frozen=True)
class Proposal:
    """`options` are those of the connector and of the format, in the order in which they are written."""

    name: str
    columns: tuple[tuple[str, str], ...]
    options: Mapping[str, str]
    event_time: str | None = None
    assumed: tuple[str, ...] = ()

    def without(self, *names: str) -> Proposal:
        """The same without some options."""
        return replace(self, options={name: value for name, value in self.options.items() if name not in names})

    def sql(self) -> str:
        """CREATE STREAM, ready to paste."""
        lines = [f"  {_name(name)} {kind}" for name, kind in self.columns]
        if self.event_time is not None:
            lines.append(f"  WATERMARK FOR {_name(self.event_time)} AS {_name(self.event_time)} - INTERVAL 10 SECONDS")
        options = ",\n".join(f"  {name} = {sql_text(value)}" for name, value in self.options.items())
        return f"CREATE STREAM {_name(self.name)} (\n" + ",\n".join(lines) + f"\n) WITH (\n{options}\n);"


def propose_files(path: Path, shape: str | None = None, name: str | None = None) -> Proposal:
    """For a file or a folder; SourceError where there is nothing to look at."""
    files = _files(path)
    chosen = shape or _shape_by_name(files[0])
    called = name or stream_name(path)
    connector = {"connector": "files", "path": str(path)}
    if chosen == "parquet":
        columns, assumed = parquet_columns(files[0])
        return proposal(called, {**connector, "format": "parquet"}, columns, assumed)
    return propose_sample(called, connector, _together([read_sample(file) for file in files]), chosen, surely_csv=_is_csv(files[0]))


def propose_sample(name: str, connector: Mapping[str, str], sample: Sample, shape: str | None = None, *, surely_csv: bool = False) -> Proposal:
    """For a text, of `shape` json, csv or text, or of what it looks like."""
    if not sample.text.strip():
        raise SourceError("there is nothing in it yet: a declaration cannot be inferred from an empty text", hint="try again once it holds records")
    found = json_records(sample) if shape in (None, "json") else None
    if found is not None:
        columns, assumed = columns_of(found.records)
        if not columns:
            raise SourceError("its records of JSON are empty: they name no columns", hint="try again once it holds records")
        if found.documents and sample.encoding != "utf-8":
            hint = f"write it as UTF-8: iconv -f {sample.encoding} -t utf-8; or one record on each line"
            raise SourceError(f"it is JSON over several lines in {sample.encoding}, which is read as UTF-8 only", hint=hint)
        more = {"multiline": "true"} if found.documents else {}
        coded = {"encoding": sample.encoding} if sample.encoding != "utf-8" else {}
        return proposal(name, {**connector, "format": "json", **more, **coded}, columns, assumed)
    if shape is None and not surely_csv and is_other_json(sample):
        raise SourceError(
            "it is JSON, but no records: objects, one on each line or in an array", hint="e.g. pandas: to_json(orient='records', lines=True)"
        )
    if shape == "json":
        raise SourceError("the text is no JSON, neither line by line nor as a whole", hint="leave --format out to have it guessed")
    lines = delimited(sample, surely=surely_csv or shape == "csv") if shape != "text" else None
    if lines is not None:
        return proposal(name, {**connector, "format": "csv", **lines.options}, lines.columns, lines.assumed)
    note = "the lines have no common delimiter: each is one text, from which a view can take parts with regexp_extract"
    return Proposal(name, (("line", "STRING"),), {**connector, "format": "text"}, None, (note,))


def proposal(name: str, options: Mapping[str, str], columns: Sequence[tuple[str, Kind]], assumed: Sequence[str]) -> Proposal:
    """One pattern for all times, one for all dates; the column that is most likely the event time."""
    notes = [*assumed, *(f"`{column}`: {kind.assumed}" for column, kind in columns if kind.assumed)]
    is_json = options["format"] == "json"
    event_time = _event_time(columns)
    if event_time and options["format"] == "parquet" and dict(columns)[event_time].type == "DATE":
        notes.append(
            f"there is no event time: `{event_time}` is a DATE; add `at TIMESTAMP AS (CAST({quoted(event_time)} AS TIMESTAMP))` for one of days"
        )
        event_time = None
    made = {"TIMESTAMP": event_time} if event_time and dict(columns)[event_time].type == "DATE" else {}
    kinds = [(column, _as_time(kind) if column == made.get("TIMESTAMP") else kind) for column, kind in columns]
    patterns: dict[str, str] = {}
    for base, option in (("TIMESTAMP", "timestamp_format"), ("DATE", "date_format")):
        chosen = _pattern(base, kinds, event_time, is_json=is_json)
        if chosen:
            patterns[option] = chosen
        for place, (column, kind) in enumerate(kinds):
            if kind.type == base and kind.pattern != chosen and not (is_json and not chosen and kind.pattern == "epoch_seconds"):
                kinds[place] = (column, Kind(kind.otherwise))
                notes.append(f"`{column}` is {kind.otherwise}: its times are written otherwise than those of the others")
    if event_time is not None:
        notes.append(f"`{event_time}` is the event time, and rows come at most 10 seconds late")
        if patterns.get("timestamp_format") not in EPOCHS:
            notes.append("times without a zone are UTC: zone = 'Europe/Lisbon' says otherwise")
    return Proposal(name, tuple((column, kind.type) for column, kind in kinds), {**options, **patterns}, event_time, tuple(notes))


def stream_name(path: Path) -> str:
    """`2024 Orders.csv.gz` is orders."""
    bare = re.sub(r"\W+", "_", path.name.split(".")[0]).strip("_").lower()
    bare = re.sub(r"^[\d_]+", "", bare)
    return bare if bare and not bare.endswith(("__dead", "__late", "__kept")) else "records"


def _pattern(base: str, kinds: Sequence[tuple[str, Kind]], event_time: str | None, *, is_json: bool) -> str:
    """That of the event time, else of most columns. Numbers of seconds need none in JSON."""
    own = next((kind.pattern for column, kind in kinds if column == event_time and kind.type == base), None)
    counted = Counter(kind.pattern for _, kind in kinds if kind.type == base)
    chosen = own if own is not None else counted.most_common(1)[0][0] if counted else ""
    return "" if is_json and chosen == "epoch_seconds" and "" in counted else chosen


def _as_time(kind: Kind) -> Kind:
    return Kind("TIMESTAMP", kind.pattern, assumed=kind.assumed, otherwise=kind.otherwise)


def _event_time(columns: Sequence[tuple[str, Kind]]) -> str | None:
    for wanted in (("TIMESTAMP", "TIMESTAMP_NTZ"), ("DATE",)):
        fitting = [column for column, kind in columns if kind.type in wanted]
        if fitting:
            return next((column for column in fitting if is_timely(column)), fitting[0])
    return None


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    found = sorted(file for file in path.rglob("*") if file.is_file() and not file.name.startswith((".", "_"))) if path.is_dir() else []
    if not found:
        raise SourceError(f"there is no file at {path}", hint="name a file, a folder with files, or a topic with --servers")
    return [file for file in found if file.suffix == found[0].suffix][:_FILES_MAX]


def _together(samples: Sequence[Sample]) -> Sample:
    """One sample of several files; the header of a csv file is left out where it is that of the first."""
    first, *others = samples
    head = first.text.partition("\n")[0]
    texts = [other.text.removeprefix(f"{head}\n") if head.strip() not in ("", "{", "[") else other.text for other in others]
    odd = next((sample.encoding for sample in samples if sample.encoding != "utf-8"), first.encoding)
    ended = (text if text.endswith("\n") or not text else f"{text}\n" for text in (first.text, *texts))
    return Sample("".join(ended), first.tail, odd, first.whole)


def _shape_by_name(path: Path) -> str | None:
    with path.open("rb") as file:
        return "parquet" if file.read(4) == b"PAR1" else None


def _is_csv(path: Path) -> bool:
    return path.name.lower().removesuffix(".gz").endswith(_SURELY_CSV)


def _name(name: str) -> str:
    return f"`{name}`" if name.lower() in _RESERVED else quoted(name)


def sql_text(value: str) -> str:
    """A value of an option as it is written in an app."""
    return "'" + (value if value == "\\t" else value.replace("\\", "\\\\")).replace("'", "''") + "'"


def differences(found: Proposal, options: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The options of a proposal that a declaration has not, or has otherwise."""
    for name, value in found.options.items():
        if name not in ("connector", "path", "topic", "servers") and options.get(name, {"format": "json"}.get(name)) != value:
            yield name, value
