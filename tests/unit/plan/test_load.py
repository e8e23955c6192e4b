"""An app is a file or a folder; its declarations are merged, and its own faults are shown at their place."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from penstock.errors import AppFault, ForbiddenFault, NameFault, SyntaxFault, UserError
from penstock.plan.load import load
from penstock.plan.model.declare import Stream, View
from penstock.plan.model.nodes import Opaque, names_read

STREAM = "CREATE STREAM Payments (a INT) WITH (connector = 'files');"
PYTHON = """
from penstock.plan.model.declare import Table
from penstock.plan.sql.statements import Create
from penstock.schema import Schema

class App:
    def __init__(self, *names):
        self.names = names
    def creates(self):
        return [Create(Table(name, Schema(()), {"connector": "files"})) for name in self.names]

app = App("cards")
"""


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_a_file_is_an_app(tmp_path: Path) -> None:
    declared = load(write(tmp_path, shop_dot_sql="\ufeff" + STREAM) / "shop.sql")
    assert declared.name == "shop"
    assert declared.folder == tmp_path
    assert list(declared.streams) == ["Payments"]


def test_a_folder_is_read_in_order_of_names(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "shop",
        b_dot_sql="CREATE VIEW v AS SELECT * FROM PAYMENTS JOIN cards USING (a);",
        a_dot_sql=STREAM,
        c_dot_py=PYTHON,
        d__more_dot_sql="CREATE SINK s FROM V WITH (connector = 'console');",
        skip_dot_txt="SELECT",
        tests__x_dot_sql="nonsense",
        _hidden_dot_sql="nonsense",
        penstock_dot_toml="",
    )
    write(folder / ".penstock", x_dot_sql="nonsense")
    declared = load(folder)
    assert declared.name == "shop"
    assert list(declared.declarations) == ["Payments", "v", "cards", "s"]
    assert names_read(declared.views["v"].query) == ("Payments", "cards")
    assert declared.sinks["s"].view == "v"


def test_names_inside_opaque_queries_are_written_as_declared(tmp_path: Path) -> None:
    text = STREAM + "CREATE VIEW v AS SELECT a FROM payments NATURAL JOIN PAYMENTS;"
    view = load(write(tmp_path, app_dot_sql=text)).views["v"]
    assert isinstance(view.query, Opaque)
    assert view.query.names == ("Payments", "Payments")


def test_two_of_one_name_are_a_fault_that_names_both_places(tmp_path: Path) -> None:
    folder = write(tmp_path, a_dot_sql=STREAM, b_dot_sql="\n\nCREATE VIEW payments AS SELECT 1")
    with pytest.raises(NameFault) as caught:
        load(folder)
    assert "a.sql:1" in caught.value.message
    assert str(caught.value.where).endswith("b.sql:3")


def test_or_replace_if_not_exists_and_drop(tmp_path: Path) -> None:
    text = (
        STREAM
        + "CREATE OR REPLACE STREAM payments (b INT) WITH (connector = 'socket'); CREATE STREAM IF NOT EXISTS PAYMENTS (c INT) WITH (x = 1);"
        + "CREATE VIEW v AS SELECT 1; DROP VIEW V; DROP VIEW IF EXISTS v; CREATE VIEW w AS SELECT b FROM Payments"
    )
    declared = load(write(tmp_path, app_dot_sql=text))
    stream = declared.declarations["payments"]
    assert isinstance(stream, Stream)
    assert stream.schema.names == ("b",)
    assert list(declared.declarations) == ["payments", "w"]
    assert isinstance(declared.declarations["w"], View)


@pytest.mark.parametrize(
    ("text", "kind", "part"),
    [
        (STREAM + "DROP STREAM paymets", NameFault, "paymets"),
        (STREAM + "DROP VIEW payments", NameFault, "is a stream"),
        (STREAM + "SELECT 1", SyntaxFault, "declare"),
        ("-- empty", AppFault, "declares nothing"),
        ("SET x = 1", ForbiddenFault, "SET"),
    ],
)
def test_faults_of_sql_files(tmp_path: Path, text: str, kind: type[UserError], part: str) -> None:
    with pytest.raises(kind) as caught:
        load(write(tmp_path, app_dot_sql=text))
    assert part in caught.value.message
    assert caught.value.hint


def test_what_is_no_app(tmp_path: Path) -> None:
    with pytest.raises(AppFault):
        load(tmp_path / "absent")
    with pytest.raises(AppFault):
        load(tmp_path)
    with pytest.raises(AppFault):
        load(write(tmp_path, x_dot_txt="hello") / "x.txt")
    (tmp_path / "latin.sql").write_bytes("-- né".encode("latin-1"))
    with pytest.raises(AppFault):
        load(tmp_path / "latin.sql")


def test_a_python_file_holds_one_app(tmp_path: Path) -> None:
    assert list(load(write(tmp_path, app_dot_py=PYTHON) / "app.py").declarations) == ["cards"]
    with pytest.raises(AppFault, match="2 apps"):
        load(write(tmp_path, two_dot_py=PYTHON + "other = App()") / "two.py")
    with pytest.raises(AppFault, match="no app"):
        load(write(tmp_path, none_dot_py="x = 1") / "none.py")


def test_flags_of_sql_in_python_count(tmp_path: Path) -> None:
    text = """
        import penstock as ps
        app = ps.App("shop")
        app.sql("CREATE OR REPLACE STREAM payments (b INT) WITH (connector = 'socket')")
        app.sql("CREATE STREAM IF NOT EXISTS payments (c INT) WITH (connector = 'socket')")
    """
    declared = load(write(tmp_path, a_dot_sql=STREAM, b_dot_py=dedent(text)))
    assert declared.streams["payments"].schema.names == ("b",)


def test_python_files_see_the_folder_and_an_edit_is_seen_at_once(tmp_path: Path) -> None:
    folder = write(tmp_path, column_names_of_this_app_dot_py="EXTRA = 'extra'", app_dot_py="import column_names_of_this_app as names\n" + PYTHON)
    (folder / "app.py").write_text((folder / "app.py").read_text().replace('"cards"', '"one", names.EXTRA'), encoding="utf-8")
    assert list(load(folder).declarations) == ["one", "extra"]
    (folder / "app.py").write_text((folder / "app.py").read_text().replace('"one"', '"two"'), encoding="utf-8")
    assert list(load(folder).declarations) == ["two", "extra"]


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("import penstock\n\ny = 1 / 0\n", 3, "ZeroDivisionError"),
        ("def f():\n    raise ValueError('no')\n\nimport penstock\nf()\n", 2, "no"),
        ("x = (\n", 1, "not Python"),
        ("import json, penstock\njson.loads('{')\n", 2, "JSONDecodeError"),
        ("import sys, penstock\nsys.exit(3)\n", 2, "SystemExit"),
    ],
)
def test_a_failure_in_the_user_s_code_is_shown_at_its_line(tmp_path: Path, text: str, line: int, part: str) -> None:
    with pytest.raises(AppFault) as caught:
        load(write(tmp_path, app_dot_py=text) / "app.py")
    fault = caught.value
    assert part in fault.message
    assert fault.where is not None
    assert (Path(fault.where.file).name, fault.where.line) == ("app.py", line)
    assert fault.excerpt


def test_a_user_error_in_python_code_stays_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(NameFault):
        load(write(tmp_path, app_dot_py="from penstock.errors import NameFault\nraise NameFault('gone')") / "app.py")
