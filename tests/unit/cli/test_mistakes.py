"""Mistakes that newcomers make, each reported in words and with the exit code of a user's mistake; none of them needs a JVM."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from penstock import cli

APP = """
CREATE STREAM orders (id BIGINT, at TIMESTAMP) WITH (connector = 'files', path = '{path}', format = 'json');
CREATE MATERIALIZED VIEW copied AS SELECT id FROM orders;
"""


@pytest.fixture
def app(tmp_path: Path) -> Path:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "input").mkdir()
    (tmp_path / "app" / "app.sql").write_text(APP.format(path="input"), encoding="utf-8")
    return tmp_path / "app"


def ended(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str]:
    """The exit code of a command, and all that it printed."""
    with pytest.raises(SystemExit) as end:
        cli.main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    assert "Traceback" not in printed.out + printed.err
    assert "internal error" not in printed.err
    return int(end.value.code or 0), printed.out + printed.err


@pytest.mark.parametrize(
    "verb", [["run"], ["batch"], ["peek", "orders"], ["sql", "-c", "SELECT 1"], ["explain"], ["graph"], ["status"]], ids=lambda verb: verb[0]
)
@pytest.mark.parametrize("where", ["file", "below"])
def test_a_state_folder_that_is_a_file_is_reported_by_every_verb(app: Path, capsys: pytest.CaptureFixture[str], verb: list[str], where: str) -> None:
    taken = app.parent / "taken"
    taken.write_text("", encoding="utf-8")
    state = taken if where == "file" else taken / "state"
    code, shown = ended(capsys, verb[0], app, *verb[1:], "--state", state)
    assert code == 4
    assert f"the state folder {state} " in shown
    assert "is a file" in shown
    assert "--state DIR" in shown


@pytest.mark.parametrize("verb", [["run"], ["batch"], ["peek", "orders"], ["sql", "-c", "SELECT 1"]], ids=lambda verb: verb[0])
def test_a_state_folder_that_cannot_be_made_is_reported_by_verbs_that_need_one(
    app: Path, capsys: pytest.CaptureFixture[str], verb: list[str]
) -> None:
    code, shown = ended(capsys, verb[0], app, *verb[1:], "--state", "/proc/penstock")
    assert code == 4
    assert "the state folder /proc/penstock" in shown


def test_the_status_of_an_app_that_never_ran_needs_no_state_folder(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(capsys, "status", app, "--state", "/proc/penstock") == (0, "copied: not run\n")
    assert ended(capsys, "status", app) == (0, "copied: not run\n")
    assert not (app / ".penstock").exists()


def test_settings_that_are_a_folder_are_reported(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (app / "penstock.toml").mkdir()
    for verb in ("check", "status"):
        code, shown = ended(capsys, verb, app)
        assert code == 2
        assert f"{app / 'penstock.toml'} cannot be read: Is a directory" in shown


@pytest.mark.parametrize("arguments", [["check", "nowhere", "--json"], ["settings"], ["settings", "--json"]], ids=" ".join)
def test_output_that_cannot_be_written_is_reported_with_a_documented_code(arguments: list[str]) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run([sys.executable, "-m", "penstock", *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.stderr == "error: the output cannot be written: No space left on device\n"
    assert done.returncode == 3


def test_what_an_app_prints_while_it_is_read_is_not_among_the_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    app = "import penstock as ps\nprint('hello')\napp = ps.App('a')\napp.stream('s', ps.Generator(), 'id INT')\n"
    (tmp_path / "app.py").write_text(app, encoding="utf-8")
    with pytest.raises(SystemExit):
        cli.main(["check", str(tmp_path), "--json"])
    printed = capsys.readouterr()
    assert "hello" not in printed.out
    assert printed.err.startswith("hello\n")


def test_an_option_of_a_wrong_kind_is_reported_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "app.py").write_text("import penstock as ps\n\napp = ps.App('a')\nbell = ps.Callback(print)\n", encoding="utf-8")
    code, shown = ended(capsys, "check", tmp_path / "app.py")
    assert code == 2
    assert "app.py:4: the option `callback` is a builtin_function_or_method" in shown


def test_a_variable_that_names_no_setting_is_warned_of(app: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_POL_MS", "1")
    monkeypatch.setenv("PENSTOCK_SECRET_PG", "1")
    monkeypatch.setenv("PENSTOCK_CACHE", "1")
    code, shown = ended(capsys, "check", app)
    assert code == 0
    assert "PENSTOCK_POL_MS in the environment is no setting: did you mean PENSTOCK_POLL_MS?" in shown
    assert shown.count("PENSTOCK_") == 2


def test_a_store_that_is_none_is_found_by_check(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = ended(capsys, "check", app, "--set", "store=mysql://me:canary@x/d")
    assert code == 2
    assert "--set store: `store` wants nothing, or postgres://user@host:port/database, not 'mysql://me:******@x/d'" in shown


@pytest.mark.parametrize("verb", [["start"], ["stop"], ["status"]], ids=lambda verb: verb[0])
def test_a_broker_cannot_live_in_a_file_either(tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: list[str]) -> None:
    (tmp_path / "taken").write_text("", encoding="utf-8")
    assert ended(capsys, "broker", *verb, "--state", tmp_path / "taken")[0] == 4


@pytest.mark.parametrize("pair", ["restarts_max=-1", "driver_memory=4 apples", "master=locl[2]", "batch_rows_max=-5"])
def test_a_setting_without_meaning_is_the_users_mistake(app: Path, capsys: pytest.CaptureFixture[str], pair: str) -> None:
    code, shown = ended(capsys, "run", app, "--set", pair)
    assert code == 2
    assert f"--set {pair.partition('=')[0]}: " in shown
    assert " wants " in shown


def test_a_picture_of_an_unknown_kind_is_refused_with_those_that_are_known(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = ended(capsys, "graph", app, "-o", app / "x.pdf")
    assert code == 2
    assert "`.pdf`" in shown
    assert all(ending in shown for ending in (".svg", ".mmd", "--format"))
    assert not (app / "x.pdf").exists()
    assert ended(capsys, "graph", app, "-o", app / "x.pdf", "--format", "svg")[0] == 0
    assert ended(capsys, "graph", app, "-o", app / "x.mmd")[0] == 0


@pytest.mark.parametrize(("path", "named"), [("inptu", "inptu"), ("inptu/*.json", "inptu"), ("input/*.json", None), ("s3://bucket/x", None)])
def test_a_stream_whose_folder_is_not_there_is_a_warning(app: Path, capsys: pytest.CaptureFixture[str], path: str, named: str | None) -> None:
    (app / "app.sql").write_text(APP.format(path=path), encoding="utf-8")
    code, shown = ended(capsys, "check", app)
    assert code == 0
    assert (f"{app / 'inptu'} yet" in shown) == (named is not None)


def test_a_table_whose_file_is_not_there_is_an_error(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (app / "app.sql").open("a", encoding="utf-8") as file:
        file.write("CREATE TABLE cards (card STRING) WITH (connector = 'files', path = 'cards.csv', format = 'csv');\n")
    code, shown = ended(capsys, "check", app)
    assert code == 2
    assert "table `cards`: there is no file at cards.csv" in shown
    assert "app.sql:4" in shown
    assert str(app / "cards.csv") in shown
    (app / "cards.csv").write_text("a\n", encoding="utf-8")
    assert ended(capsys, "check", app)[0] == 0


@pytest.mark.parametrize("at", ["nowhere", "127.0.0.1:99999"])
def test_an_address_for_metrics_that_is_none_is_reported_before_spark_starts(app: Path, capsys: pytest.CaptureFixture[str], at: str) -> None:
    code, shown = ended(capsys, "run", app, "--metrics", at)
    assert code == 2
    assert "--metrics wants HOST:PORT" in shown


def test_a_view_that_never_ran_has_a_status_too(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(capsys, "status", app) == (0, "copied: not run\n")


@pytest.mark.parametrize(
    "line",
    [
        "ps.Kafka('h:1', topic='t', password='canary' nonsense=1)",
        "ps.Kafka('h:1', topic='t', password=f'canary', start=1 / 0)",
        "ps.Kafka('h:1', topic='t', **{'password': \"canary\"}, start=1 / 0)",
        "ps.Kafka('h:1', topic='t', password='canary",
        "int('postgres://me:canary@h/d')",
    ],
)
@pytest.mark.parametrize("json", [[], ["--json"]], ids=["in words", "as JSON"])
def test_a_password_in_the_python_of_an_app_is_masked_where_its_line_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, json: list[str]
) -> None:
    (tmp_path / "app.py").write_text(f"import penstock as ps\n\napp = ps.App('shop')\nsource = {line}\n", encoding="utf-8")
    code, printed = ended(capsys, "check", tmp_path / "app.py", *json)
    assert code == 2
    assert "canary" not in printed
    assert "******" in printed
    assert "app.py" in printed


def test_a_password_in_a_setting_that_has_no_name_is_masked(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, printed = ended(capsys, "status", app, "--set", "postgres://me:canary@h/d")
    assert code == 2
    assert "not `postgres://me:******@h/d`" in printed
