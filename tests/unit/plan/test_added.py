"""What statements make of an app, and what of them holds when its files are read again."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.catalog import AddedStatement, Catalog
from penstock.errors import InUseFault, NameFault, SyntaxFault
from penstock.plan.added import changed, read_statements, to_keep, with_added
from penstock.plan.load import load
from penstock.plan.model.declare import Declared, View
from penstock.plan.sql.statements import Rollback

SALES = "CREATE STREAM sales (item STRING) WITH (connector = 'files', path = 'sales', format = 'json');"
COPY = "CREATE MATERIALIZED VIEW copy AS SELECT item FROM sales;"
OUT = "CREATE SINK out FROM copy WITH (connector = 'console');"


class App:
    """An app of one file that statements are made to, and read again."""

    def __init__(self, folder: Path, *statements: str) -> None:
        self._file = folder / "app.sql"
        self.kept: list[AddedStatement] = []
        self.reasons: list[str] = []
        self.write(*statements)

    def write(self, *statements: str) -> None:
        self._file.write_text("\n".join((SALES, *statements)), encoding="utf-8")
        self.declared: Declared = self.read()

    def read(self) -> Declared:
        found, self.kept, self.reasons = with_added(load(self._file), self.kept)
        return found

    def add(self, sql: str) -> None:
        statements = [one for one in read_statements(sql) if not isinstance(one, Rollback)]
        after = changed(self.declared, statements)
        self.kept = to_keep(self.kept, statements, load(self._file), after)
        self.declared = after
        assert self.read() == after, "the app is the same when it is read again"
        assert self.reasons == []

    def query(self, view: str) -> str:
        found = self.declared.declarations[view]
        assert isinstance(found, View)
        return found.text


def test_views_come_are_replaced_and_go(tmp_path: Path) -> None:
    app = App(tmp_path, COPY)
    app.add("CREATE MATERIALIZED VIEW more AS SELECT item FROM copy;")
    app.add("CREATE OR REPLACE MATERIALIZED VIEW more AS SELECT upper(item) AS item FROM copy;")
    assert app.query("more") == "SELECT upper(item) AS item FROM copy"
    app.add("DROP VIEW more; CREATE MATERIALIZED VIEW other AS SELECT item FROM COPY")
    assert list(app.declared.views) == ["copy", "other"]
    assert [statement.name for statement in app.kept] == ["other"]


def test_a_view_takes_its_sinks_along_and_both_stay_away(tmp_path: Path) -> None:
    app = App(tmp_path, COPY, OUT)
    app.add("DROP VIEW copy")
    assert list(app.declared.declarations) == ["sales"]
    app.add(COPY)
    assert list(app.declared.declarations) == ["sales", "copy"]


def test_what_others_read_is_not_dropped_and_they_are_named(tmp_path: Path) -> None:
    app = App(tmp_path, COPY, "CREATE MATERIALIZED VIEW more AS SELECT item FROM copy;")
    with pytest.raises(InUseFault, match="`copy` cannot be dropped: `more` reads it"):
        app.add("DROP VIEW copy")
    with pytest.raises(InUseFault, match="`sales` cannot be dropped: `copy` reads it"):
        app.add("DROP STREAM sales")
    app.add("DROP VIEW copy; DROP VIEW more;")


@pytest.mark.parametrize(
    ("sql", "kind"),
    [(COPY, NameFault), ("DROP VIEW nothing", NameFault), ("DROP SINK copy", NameFault), ("SELECT 1", SyntaxFault), (";", SyntaxFault)],
)
def test_statements_that_cannot_be_made(tmp_path: Path, sql: str, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        App(tmp_path, COPY).add(sql)


def test_a_file_that_says_something_else_by_now_wins_and_that_is_reported_once(tmp_path: Path) -> None:
    app = App(tmp_path, COPY)
    app.add("CREATE OR REPLACE MATERIALIZED VIEW copy AS SELECT upper(item) AS item FROM sales;")
    app.add("CREATE MATERIALIZED VIEW more AS SELECT item FROM sales;")
    app.write("-- a remark changes nothing", COPY)
    assert app.query("copy") == "SELECT upper(item) AS item FROM sales"
    app.write(COPY.replace("item FROM", "lower(item) AS item FROM"), "CREATE MATERIALIZED VIEW more AS SELECT 1 AS one FROM sales;")
    assert (app.query("copy"), app.query("more")) == ("SELECT lower(item) AS item FROM sales", "SELECT 1 AS one FROM sales")
    assert len(app.reasons) == 2
    app.read()
    assert app.reasons == []


def test_what_an_added_view_read_may_be_gone_and_then_it_is_left_out(tmp_path: Path) -> None:
    app = App(tmp_path, COPY)
    app.add("CREATE MATERIALIZED VIEW more AS SELECT item FROM copy; CREATE MATERIALIZED VIEW most AS SELECT item FROM more;")
    app.add("CREATE SINK out FROM most WITH (connector = 'console');")
    app.write()
    assert list(app.declared.declarations) == ["sales"]
    assert app.kept == []
    assert len(app.reasons) == 3


def test_statements_are_kept_in_order(tmp_path: Path) -> None:
    statements = [AddedStatement("b", "CREATE ...", ""), AddedStatement("a", None, "known")]
    Catalog(tmp_path).keep_added(statements)
    assert Catalog(tmp_path).added() == statements
    Catalog(tmp_path).keep_added(statements[1:])
    assert Catalog(tmp_path).added() == statements[1:]
