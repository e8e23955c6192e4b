"""Every clause of row patterns gives what its definition says: live, split at random and over a restart, and in batch."""

from __future__ import annotations

import json
import random
from datetime import timedelta
from typing import Any

import pytest

from penstock.testing.conformance.clauses import CLAUSES, MINUTE, SECTIONS, Clause
from penstock.testing.conformance.expected import START, Row, expected, given, query
from penstock.testing.trial import Trial

pytestmark = pytest.mark.timeout(1200)
STREAM = """CREATE STREAM t (k STRING, at TIMESTAMP, id INT, x INT, WATERMARK FOR at AS at - INTERVAL 1 MINUTE)
WITH (connector = 'files', path = 't', format = 'json');
"""


def view(number: int, clauses: tuple[Clause, ...]) -> str:
    """The queries of a section in one view, so that they are one job."""
    parts = (f"SELECT {place} AS clause, to_json(struct(m.*)) AS row FROM ({query(clause)}) AS m" for place, clause in enumerate(clauses))
    return f"CREATE MATERIALIZED VIEW section_{number} AS\n{' UNION ALL '.join(parts)};\n"


def plain(row: Row) -> str:
    """A row as text: without nulls, numbers as floats, times in microseconds since the first day."""

    def value(found: Any) -> Any:
        if isinstance(found, list):
            return [value(each) for each in found]
        return float(found) if isinstance(found, int) and not isinstance(found, bool) else found

    return json.dumps({name: value(found) for name, found in row.items() if found is not None}, sort_keys=True)


def as_written(row: Row) -> Row:
    return {**row, "at": f"{START + timedelta(microseconds=row['at']):%Y-%m-%dT%H:%M:%S.000Z}"}


def test_every_clause_gives_what_its_definition_says(trial: Trial) -> None:
    trial = trial.having(batch_files_max="1", keyed_buckets="1")
    trial.write("app.sql", STREAM + "".join(view(number, clauses) for number, clauses in enumerate(SECTIONS.values())))
    chance = random.Random(16)
    rows = given()
    cuts = sorted(chance.sample(range(1, len(rows)), 2))
    for first, last in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        trial.feed("t", *map(as_written, chance.sample(rows[first:last], last - first)))
        if first == 0:
            trial.drain()
    trial.drain()
    wrong = []
    for number, clauses in enumerate(SECTIONS.values()):
        held, computed = trial.rows(f"section_{number}"), trial.batch(f"section_{number}")
        for place, clause in enumerate(clauses):
            wanted = sorted(plain(as_written(row) if "at" in row else row) for row in expected(clause, 19 * MINUTE))
            for what, found in (("live", held), ("batch", computed)):
                got = sorted(plain(json.loads(row["row"])) for row in found if row["clause"] == place)
                if got != wanted:
                    wrong.append(f"{what}, {clause.name}: {query(clause)}\nwanted {wanted}\ngot    {got}")
    assert not wrong, "\n\n".join(wrong)


def test_every_clause_has_rows_to_be_told_by() -> None:
    """A query that gives nothing would agree with anything; `$` waits for the end of the input, which a stream does not have."""
    assert [clause.name for clause in CLAUSES if not expected(clause, 19 * MINUTE)] == ["$"]
    assert len(expected(next(clause for clause in CLAUSES if clause.name == "$"), 20 * MINUTE, final=True)) == 6
    assert len({clause.name for clause in CLAUSES}) == len(CLAUSES) > 60
