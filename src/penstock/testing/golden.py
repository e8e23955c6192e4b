"""Golden queries: files that say what a view must hold, and the means to run them.

    tests/queries/streams.sql            the inputs, declared once, in sets
    tests/queries/<topic>_<name>.sql     one query: a header, then its views
    tests/queries/data/<stream>/NNN.json one file per micro-batch;  data/<table>.csv
    tests/queries/expected/<case>.jsonl  what the view holds when everything was read
    tests/queries/duckdb/<case>.sql      the same query for the second opinion, which wrote `expected`

Queries of one set can run in one app: `groups` says which. `python -m penstock.testing.golden --write` writes `expected`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.testing.reference import Input, answer, duration

QUERIES = Path(__file__).parent
_GROUP_SIZE = 14
_COLUMN = re.compile(r"(?:`([^`]+)`|\b(\w+)) ((?:ARRAY|MAP|STRUCT)<[^>]*>|DECIMAL\([^)]*\)|[A-Z]+)(?=[,\n)])")


@dataclass(frozen=True)
class Case:
    """One golden query: `sql` holds its views, `view` is the one to compare. What is not `everyday` runs by `make golden` alone."""

    name: str
    view: str
    says: str
    cut: bool
    uses: tuple[str, ...]
    sql: str
    folder: Path
    everyday: bool = True

    @property
    def expected(self) -> list[str]:
        return (self.folder / "expected" / f"{self.name}.jsonl").read_text(encoding="utf-8").splitlines()

    @property
    def second_opinion(self) -> str:
        """The DuckDB text that says the same."""
        return (self.folder / "duckdb" / f"{self.name}.sql").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Group:
    """Cases over one set of inputs, small enough to run in one app."""

    name: str
    cases: tuple[Case, ...]


def cases(folder: Path = QUERIES) -> list[Case]:
    """Every golden query below `folder`, by name."""
    return [_read_case(path) for path in sorted(folder.glob("*.sql")) if path.name != "streams.sql"]


def groups(chosen: Sequence[Case], size: int = _GROUP_SIZE) -> list[Group]:
    """The cases in apps of at most `size` queries, each over one set of inputs."""
    by_set: dict[str, list[Case]] = {}
    for case in chosen:
        by_set.setdefault(_set_of(case), []).append(case)
    return [
        Group(f"{name}{number + 1}", tuple(members[start : start + size]))
        for name, members in by_set.items()
        for number, start in enumerate(range(0, len(members), size))
    ]


def inputs(folder: Path, names: Iterable[str] | None = None) -> list[Input]:
    """The streams and tables of `streams.sql`, or those that are named."""
    wanted = None if names is None else set(names)
    return [_read_input(statement, folder) for name, statement in _declarations(folder).items() if wanted is None or name in wanted]


def second_opinion(case: Case) -> list[str]:
    """What the reference evaluator says the view holds."""
    return answer(inputs(case.folder), case.second_opinion)


def prepare(chosen: Sequence[Case], folder: Path) -> Path:
    """An app file in `folder` with the views of these cases; its streams are empty until `feed`."""
    source = chosen[0].folder
    used = [name for name in _declarations(source) if any(name in case.uses for case in chosen)]
    data = folder / "data"
    for entry in inputs(source, used):
        if entry.is_stream:
            (data / entry.name).mkdir(parents=True, exist_ok=True)
        else:
            data.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(entry.files[0], data / entry.files[0].name)
    text = "\n".join([*(_declarations(source)[name] for name in used), *(case.sql for case in chosen)])
    app = folder / "app.sql"
    app.write_text(text.replace("{data}", str(data)), encoding="utf-8")
    return app


def rounds(chosen: Sequence[Case]) -> int:
    """How many files the longest stream of these cases has."""
    return max(len(entry.files) for entry in _streams(chosen))


def feed(chosen: Sequence[Case], folder: Path, k: int) -> None:
    """Let the k-th file (from 1) of every stream arrive whole, each later than the one before."""
    arriving = folder / "arriving"
    arriving.mkdir(exist_ok=True)
    for entry in _streams(chosen):
        if k <= len(entry.files):
            path = entry.files[k - 1]
            shutil.copyfile(path, arriving / path.name)
            moment = time.time() - 60 + k
            os.utime(arriving / path.name, (moment, moment))
            os.replace(arriving / path.name, folder / "data" / entry.name / path.name)


def compare(expected: Iterable[str], got: Iterable[str]) -> str:
    """Empty when both hold the same rows the same number of times; else what is missing and what is too much."""
    missing = Counter(_canonical(line) for line in expected)
    extra = Counter(_canonical(line) for line in got)
    common = missing & extra
    lacking, surplus = list((missing - common).elements()), list((extra - common).elements())
    for row in list(lacking):
        match = next((other for other in surplus if _close(json.loads(row), json.loads(other))), None)
        if match is not None:
            lacking.remove(row)
            surplus.remove(match)
    if not lacking and not surplus:
        return ""
    heads = [f"{common.total()} rows are equal, {len(lacking)} missing, {len(surplus)} too many"]
    return "\n".join(heads + [f"  missing   {row}" for row in sorted(lacking)[:20]] + [f"  too many  {row}" for row in sorted(surplus)[:20]])


def _canonical(line: str) -> str:
    return json.dumps(_normal(json.loads(line)), ensure_ascii=False)


def _normal(value: object) -> object:
    """Whole floats as integers, fractions of a second without trailing zeros; the order of fields is kept."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str):
        return re.sub(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.0+|(\.\d*?[1-9])0*)Z$", lambda found: f"{found[1]}{found[2] or ''}Z", value)
    if isinstance(value, dict):
        return {key: _normal(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_normal(part) for part in value]
    return value


def _close(one: object, other: object) -> bool:
    """Equal but for the last digits of floats."""
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(_close(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_close, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return one == other


def _read_case(path: Path) -> Case:
    text = path.read_text(encoding="utf-8")
    header = dict(re.findall(r"^-- (view|uses|cut|run|says): (.*)$", text, flags=re.MULTILINE))
    uses = tuple(name.strip() for name in header["uses"].split(","))
    return Case(path.stem, header["view"], header["says"], header["cut"] == "yes", uses, text, path.parent, "run" not in header)


def _streams(chosen: Sequence[Case]) -> list[Input]:
    used = {name for case in chosen for name in case.uses}
    return [entry for entry in inputs(chosen[0].folder, used) if entry.is_stream]


def _declarations(folder: Path) -> dict[str, str]:
    text = (folder / "streams.sql").read_text(encoding="utf-8")
    return {found[2]: found[1] for found in re.finditer(r"^(CREATE (?:STREAM|TABLE) (\w+).*?;)$", text, flags=re.MULTILINE | re.DOTALL)}


def _set_of(case: Case) -> str:
    text = (case.folder / "streams.sql").read_text(encoding="utf-8")
    before = text[: text.index(f" {case.uses[0]} (")]
    return before.rpartition("-- set: ")[2].split()[0]


def _read_input(statement: str, folder: Path) -> Input:
    kind, name = statement.split()[1:3]
    body, options = statement.split("WITH (")
    declared = body.partition("(")[2].partition("WATERMARK")[0]
    columns = tuple((quoted or bare, kind_of) for quoted, bare, kind_of in _COLUMN.findall(declared))
    path = folder / "data" / re.findall(r"\{data\}/([^']+)", options)[0]
    if kind == "TABLE":
        return Input(name, columns, (path,))
    event_time, lateness = re.findall(r"WATERMARK FOR (\w+) AS \w+ - INTERVAL (\d+ \w+)", body)[0]
    return Input(name, columns, tuple(sorted(path.glob("*.json"))), event_time, duration(lateness))


def main(arguments: Sequence[str]) -> int:
    """Write the expected rows of every case, or of those named, by the second opinion; without --write only compare."""
    parser = argparse.ArgumentParser(prog="python -m penstock.testing.golden", description=main.__doc__)
    parser.add_argument("names", nargs="*", help="cases; none: all of them")
    parser.add_argument("--write", action="store_true", help="write expected/<case>.jsonl")
    parser.add_argument("--queries", type=Path, default=QUERIES, help="the folder of the queries")
    options = parser.parse_args(arguments)
    differing = 0
    for case in cases(options.queries):
        if options.names and case.name not in options.names:
            continue
        rows = sorted(second_opinion(case))
        if options.write:
            (case.folder / "expected" / f"{case.name}.jsonl").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
        difference = compare(case.expected, rows)
        differing += bool(difference)
        sys.stderr.write(f"{case.name}: {difference}\n" if difference else "")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
