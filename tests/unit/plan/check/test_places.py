"""A finding stands on the line on which the user wrote it, wherever the text around it begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.plan.check.app import Finding, check
from penstock.plan.load import load

STREAM = "CREATE STREAM s (k STRING, x INT, at TIMESTAMP) WITH (connector = 'files', path = 'in');"
HOURLY = """CREATE VIEW v
WITH (store = 'true')
AS

-- how much per hour
SELECT window.start AS st, k, sum(x) AS sx
FROM s
WHERE nocol > 3
GROUP BY window(at, '1 hour'), k
HAVING sum(x) > 3;"""
APP = """import textwrap

import penstock as ps

app = ps.App("a")
app.stream("s", ps.Files("in"), "k STRING, x INT")
"""


def findings(folder: Path, name: str, text: str) -> list[Finding]:
    (folder / name).write_text(text, encoding="utf-8")
    found = check(load(folder / name), lambda *_: None, lambda *_: None)
    return [finding for finding in found if finding.severity == "error"]


def at(text: str, word: str) -> tuple[int, int]:
    """Line and column of the only place of a word."""
    assert text.count(word) == 1
    start = text.index(word)
    return text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)


@pytest.mark.parametrize(
    "view",
    [
        "CREATE VIEW v AS SELECT nocol FROM s;",
        HOURLY,
        "CREATE VIEW v AS\n-- a\n/* b\n c */ SELECT k\nFROM s AS s WHERE nocol > 3;",
        "CREATE VIEW v AS\n\nSELECT k FROM s WHERE nocol > 3 AND k = 'nocol2'\n;",
    ],
)
def test_sql_between_create_and_select_does_not_move_the_line(tmp_path: Path, view: str) -> None:
    text = f"{STREAM}\n\n{view}\n"
    (found,) = findings(tmp_path, "app.sql", text)
    place = at(text.replace("nocol2", ""), "nocol")
    assert found.where is not None
    assert (found.where.line, found.where.column) == place
    assert (found.excerpt or "").startswith(f"{place[0]:>5} | ")


@pytest.mark.parametrize(
    "call",
    [
        'app.view("v", "SELECT nocol FROM s")',
        'app.view(\n    "v",\n    """\n    SELECT k,\n           nocol\n    FROM s\n    """,\n)',
        'app.view(\n    "v",\n    """\\\n    SELECT k,\n           nocol\n    FROM s\n    """,\n)',
        'app.sql(\n    """\n    CREATE VIEW w AS\n    SELECT k, nocol\n    FROM s;\n    """\n)',
        'app.view(\n    "v",\n    app.query(\n        """\n        SELECT nocol FROM s\n        """\n    ),\n)',
        'app.sql(\n    textwrap.dedent(\n        """\n        CREATE VIEW w AS\n        SELECT nocol\n        FROM s;\n        """\n    ).strip()\n)',
        'TEXT = """\n\nSELECT k,\n   nocol FROM s"""\nif True:\n    app.view("v", TEXT)',
    ],
)
def test_python_reports_the_line_of_the_literal(tmp_path: Path, call: str) -> None:
    text = f"{APP}\n{call}\n"
    (found,) = findings(tmp_path, "app.py", text)
    assert found.where is not None
    assert found.where.line == at(text, "nocol")[0]
    assert (found.excerpt or "").startswith(f"{found.where.line:>5} | ")


@pytest.mark.parametrize(
    "call",
    [
        'app.view("v", s.where("nocol > 3"))',
        'app.view(\n    "v",\n    s.where(\n        "nocol > 3"\n    ),\n)',
        'app.view(\n    "v",\n    (\n        s.where("x > 3")\n        .select(\n            "k",\n            "nocol AS y",\n        )\n    ),\n)',
        'app.view(\n    "v",\n    s.group_by("k").agg(\n        n="count(*)",\n        total="sum(nocol)",\n    ),\n)',
    ],
)
def test_an_expression_of_a_query_value_stands_on_its_own_line(tmp_path: Path, call: str) -> None:
    text = f"{APP}\ns = app.read('s')\n{call}\n"
    (found,) = findings(tmp_path, "app.py", text)
    assert found.where is not None
    assert found.where.line == at(text, "nocol")[0]


def test_of_two_equal_texts_each_call_means_its_own(tmp_path: Path) -> None:
    one = '    """\n    SELECT nocol FROM s\n    """,\n'
    text = f'{APP}app.view(\n    "a",\n{one})\napp.view(\n    "b",\n{one})\n'
    assert [found.where.line if found.where else 0 for found in findings(tmp_path, "app.py", text)] == [10, 16]


def test_a_syntax_fault_stands_there_too(tmp_path: Path) -> None:
    text = f'{APP}app.view(\n    "a",\n    """\n    SELECT k,\n      FROM s\n    """,\n)\n'
    with pytest.raises(Exception, match=r"app\.py:1[01]: "):
        findings(tmp_path, "app.py", text)
