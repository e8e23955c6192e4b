"""What `check` says of Python functions, whose files it reads and does not run."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.plan.check.app import check
from penstock.plan.load import load
from penstock.plan.model.findings import ERROR
from penstock.sink.options import check_sink_options
from penstock.source.options import check_source_options

STREAM = "CREATE STREAM payments (id INT, amount DOUBLE) WITH (connector = 'files', path = 'data', format = 'json');\n"
KEYED_VIEW = "CREATE VIEW v AS SELECT * FROM map_with_state(payments PARTITION BY {}, 'scoring:{}', 'returns id INT')"
VECTORIZED = "view `v`: `scoring:update` is vectorized and declares no state"
CODE = """import penstock as ps

@ps.function("DOUBLE")
def risk(amount, country=None):
    return amount

def score(batch):
    return batch

def update(row, state):
    return None, state
"""


def errors(folder: Path, text: str) -> list[str]:
    (folder / "app.sql").write_text(STREAM + text, encoding="utf-8")
    (folder / "scoring.py").write_text(CODE, encoding="utf-8")
    (folder / "data").mkdir(exist_ok=True)
    return [finding.message for finding in check(load(folder), check_source_options, check_sink_options) if finding.severity == ERROR]


@pytest.mark.parametrize(
    "text",
    [
        "CREATE VIEW v AS SELECT risk(amount) AS r FROM payments WHERE RISK(amount, 'CH') > 1",
        "CREATE FUNCTION two AS 'scoring:risk' RETURNS DOUBLE; CREATE VIEW v AS SELECT two(amount) AS r FROM payments",
        "CREATE VIEW v WITH (on_error = 'stop') AS SELECT * FROM map_batches(payments, 'scoring:score', 'id INT, amount DOUBLE')",
        KEYED_VIEW.format("id", "update"),
    ],
)
def test_functions_of_python_files_are_known_to_sql(tmp_path: Path, text: str) -> None:
    assert errors(tmp_path, text) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE FUNCTION f AS 'scoring:update' RETURNS STRUCT<a: INT, b: STRNG>", "what function `f` returns: there is no type `strng`"),
        (
            KEYED_VIEW.format("card", "update"),
            "view `v`: `scoring:update` takes its rows by `card`, which they do not have",
        ),
        (
            KEYED_VIEW.format("id", "score"),
            "view `v`: `scoring:score` is called with a row and a state, two arguments",
        ),
        (KEYED_VIEW.format("id", "updated"), "view `v`: scoring.py has no function `updated`"),
        ("CREATE VIEW v AS SELECT * FROM map_with_state(payments PARTITION BY id, 'scoring:update', 'n INT', 'vectorized')", VECTORIZED),
        ("CREATE VIEW v AS SELECT risc(amount) AS r FROM payments", "there is no function `risc`"),
        ("CREATE VIEW v AS SELECT risk() AS r FROM payments", "`risk` takes 1 to 2 arguments, not 0"),
        ("CREATE VIEW v AS SELECT risk(amount, 1, 2) AS r FROM payments", "`risk` takes 1 to 2 arguments, not 3"),
        ("CREATE FUNCTION f AS 'scoring:nothing' RETURNS INT", "function `f`: scoring.py has no function `nothing`"),
        ("CREATE FUNCTION f AS 'nowhere:f' RETURNS INT", "function `f`: there is no file nowhere.py for the function `nowhere:f`"),
        ("CREATE FUNCTION upper AS 'scoring:risk' RETURNS INT", "`upper` is a function of Spark's already"),
        ("CREATE VIEW v AS SELECT * FROM map_batches(payments, 'scoring:skore', 'id INT')", "view `v`: scoring.py has no function `skore`"),
        ("CREATE VIEW v WITH (on_error = 'ignore') AS SELECT id FROM payments", "view `v`: `on_error` cannot be 'ignore'"),
        ("CREATE VIEW v AS SELECT * FROM risk", "there is no stream, table or view `risk`"),
    ],
)
def test_what_cannot_be_called_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    assert errors(tmp_path, text) == [message]
