"""The command as its users call it: a real process, a real app, real Spark."""

from __future__ import annotations

import json
import os
import pty
import re
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.cli.run.stopping import descendants

PENSTOCK = [sys.executable, "-m", "penstock"]
QUICK = {"PENSTOCK_MASTER": "local[2]", "PENSTOCK_DRIVER_MEMORY": "1g", "PENSTOCK_SHUFFLE_PARTITIONS": "2", "PENSTOCK_FAST_START": "true"}

ORDERS = [
    {"id": 1, "customer": "O'Hara", "amount": "10.50", "at": "2026-01-01T10:00:00Z"},
    {"id": 2, "customer": "Zoë", "amount": "5.25", "at": "2026-01-01T10:05:00Z"},
    {"id": 3, "customer": "O'Hara", "amount": "1.00", "at": "2026-01-01T11:00:00Z"},
]
APP = """
CREATE STREAM orders (id BIGINT, customer STRING, amount DECIMAL(12,2), at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 1 MINUTE)
  WITH (connector = 'files', path = 'input', format = 'json');
CREATE MATERIALIZED VIEW spend AS SELECT customer, sum(amount) AS total FROM orders GROUP BY customer EMIT CHANGES;
CREATE MATERIALIZED VIEW best AS SELECT customer, total FROM spend ORDER BY total DESC LIMIT 1;
"""
ENDLESS = """
CREATE STREAM ticks (k BIGINT, at TIMESTAMP) WITH (connector = 'generator', rows_per_second = '100', keys = '5', k = 'key');
CREATE MATERIALIZED VIEW counted AS SELECT k, count(*) AS n FROM ticks GROUP BY k EMIT CHANGES;
"""
SPEND = [{"customer": "O'Hara", "total": "11.50"}, {"customer": "Zoë", "total": "5.25"}]


def penstock(*arguments: str | Path, stdin: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [*PENSTOCK, *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, env=os.environ | QUICK, cwd=cwd, timeout=240, check=False)


def objects(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def by_customer(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    return sorted(rows, key=lambda row: str(row["customer"]))


@pytest.fixture
def app(tmp_path: Path) -> Path:
    folder = tmp_path / "orders"
    (folder / "input").mkdir(parents=True)
    (folder / "app.sql").write_text(APP, encoding="utf-8")
    (folder / "input" / "1.json").write_text("".join(json.dumps(order, ensure_ascii=False) + "\n" for order in ORDERS), encoding="utf-8")
    return folder


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    folder = tmp_path / "ticks"
    folder.mkdir()
    (folder / "app.sql").write_text(ENDLESS)
    return folder


def test_version_and_settings_are_reported() -> None:
    assert penstock("--version").stdout.startswith("penstock ")
    settings = {row["name"]: row for row in objects(penstock("settings", "--json").stdout)}
    assert settings["master"]["value"] == "local[2]"
    assert settings["master"]["default"] == "local[*]"


def test_check_says_yes_quickly_and_leaves_nothing_behind(app: Path) -> None:
    done = penstock("check", app)
    assert done.returncode == 0, done.stdout
    assert done.stderr == "ok: 1 stream, 2 views\n"
    assert not (app / ".penstock").exists()
    # CPU time, not the clock: what else the machine does must not decide.
    best = min(cpu_seconds("check", app) for _ in range(3))
    assert best < 1.0, f"check took {best:.2f} s"


def cpu_seconds(*arguments: str | Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    penstock(*arguments)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_check_explain_and_graph_need_neither_spark_nor_pandas(app: Path) -> None:
    for verb in (["check"], ["explain"], ["graph"]):
        program = (
            "import sys\nfrom penstock.cli import main\n"
            f"try:\n    main({[*verb, str(app)]!r})\n"
            "except SystemExit as ended:\n    assert ended.code == 0, ended.code\n"
            "print(sorted(set(sys.modules) & {'pyspark', 'pandas', 'pyarrow', 'numpy', 'prompt_toolkit', 'confluent_kafka'}), file=sys.stderr)"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert done.stderr.splitlines()[-1] == "[]", verb


def test_check_underlines_every_mistake(app: Path) -> None:
    (app / "app.sql").write_text(APP.replace("sum(amount)", "sum(amout)").replace("FROM spend", "FROM spent"), encoding="utf-8")
    done = penstock("check", app)
    assert done.returncode == 2
    assert "app.sql:4: " in done.stdout
    assert "^^^^^" in done.stdout
    assert "hint: did you mean `amount`?" in done.stdout
    assert "spent" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    found = objects(penstock("check", app, "--json").stdout)
    assert {finding["line"] for finding in found if finding["severity"] == "error"} == {4, 5}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("CREATE STREAM", "app.sql:1"),
        ("SELECT FROM WHERE;", "app.sql:1"),
        ("CREATE STREAM s (a INT) WITH (connector = 'kafak');", "kafka"),
        ("CREATE SINK s FROM nothing WITH (connector = 'console');", "nothing"),
        ("CREATE MATERIALIZED VIEW v AS SELECT reflect('java.lang.System', 'exit', 1);", "reflect"),
    ],
)
def test_a_bad_app_is_the_users_mistake(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "app.sql").write_text(text)
    for verb in (["check"], ["run", "--drain"]):
        done = penstock(verb[0], tmp_path, *verb[1:])
        assert done.returncode == 2, (verb, done.stderr)
        assert words in done.stdout + done.stderr
        assert "Traceback" not in done.stdout + done.stderr
        assert "internal error" not in done.stderr
    assert not (tmp_path / ".penstock").exists()


def test_warnings_fail_only_when_strict(app: Path) -> None:
    assert penstock("check", app, "--strict").returncode == 0
    with (app / "app.sql").open("a", encoding="utf-8") as file:
        file.write("CREATE MATERIALIZED VIEW biggest AS SELECT id, rank() OVER (ORDER BY amount) AS place FROM orders;\n")
    done = penstock("check", app)
    assert done.returncode == 0
    assert done.stdout.startswith("warning: ")
    assert "app.sql:6: view `biggest` reads all rows of `orders` again in every epoch: rank() OVER (...)" in done.stdout
    assert penstock("check", app, "--strict").returncode == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "absent.sql"], "absent.sql"),
        (["peek", "APP", "ordres"], "did you mean `orders`?"),
        (["explain", "APP", "spnd"], "did you mean `spend`?"),
        (["run", "APP", "--set", "mastr=x"], "did you mean `master`?"),
        (["run", "APP", "--set", "master"], "NAME=VALUE"),
        (["sql", "APP", "-c", "SELEC 1"], "SQL"),
        (["sql", "APP", "-c", "CREATE MATERIALIZED VIEW v AS SELECT 1"], "penstock check"),
        (["frobnicate"], "frobnicate"),
    ],
)
def test_a_wrong_command_is_exit_code_2_with_a_way_out(app: Path, arguments: list[str], words: str) -> None:
    done = penstock(*(str(app) if argument == "APP" else argument for argument in arguments))
    assert done.returncode == 2, done.stderr
    assert words in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_explain_and_graph_speak_of_every_view(app: Path) -> None:
    explained = objects(penstock("explain", app, "--json").stdout)
    assert [explanation["view"] for explanation in explained] == ["spend", "best"]
    assert penstock("explain", app, "best").stdout.startswith("view best\n")
    drawn = penstock("graph", app).stdout
    assert drawn.startswith("flowchart LR")
    assert all(name in drawn for name in ("orders", "spend", "best"))
    assert penstock("graph", app, "-o", app / "app.svg").returncode == 0
    assert (app / "app.svg").read_text(encoding="utf-8").startswith("<svg ")


def test_peek_and_batch_print_rows_for_programs(app: Path) -> None:
    peeked = penstock("peek", app, "orders", "-n", "2", "--json")
    assert [row["id"] for row in objects(peeked.stdout)] == [1, 2]
    assert objects(peeked.stdout)[0]["at"] == "2026-01-01T10:00:00Z"
    every = objects(penstock("batch", app, "--json").stdout)
    assert sorted({str(row["view"]) for row in every}) == ["best", "spend"]
    assert {str(row["row"]) for row in every if row["view"] == "spend"} == set(map(str, SPEND))
    assert [row["row"] for row in every if row["view"] == "best"] == [SPEND[0]]


def test_run_drain_keeps_results_that_peek_and_sql_read(app: Path) -> None:
    done = penstock("run", app, "--drain")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert re.search(r"spend.*: done", done.stderr)
    log = objects((app / ".penstock" / "logs" / "penstock.log").read_text()) if (app / ".penstock" / "logs" / "penstock.log").exists() else []
    assert all({"time", "level", "stage", "message"} <= set(line) for line in log)
    assert by_customer(objects(penstock("peek", app, "spend", "--json").stdout)) == SPEND
    shown = penstock("peek", app, "best")
    assert shown.stdout.splitlines() == ["customer  total", "--------  -----", "O'Hara    11.50"]
    assert shown.stderr == ""
    asked = penstock(
        "sql", app, "--json", stdin="SELECT max(total) AS m FROM spend; -- kept\nSELECT count(*) AS n FROM orders WHERE customer LIKE '%''%';"
    )
    assert objects(asked.stdout) == [{"m": "11.50"}, {"n": 2}]


def running(app: Path) -> subprocess.Popen[str]:
    """A live run that has read its first rows."""
    process = subprocess.Popen([*PENSTOCK, "run", str(app)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=os.environ | QUICK)
    for line in _lines(process):
        if re.search(r"running.* rows [1-9]", line):
            return process
    raise AssertionError("it ended by itself")


def _lines(process: subprocess.Popen[str]) -> Iterator[str]:
    assert process.stderr is not None
    return iter(process.stderr.readline, "")


def test_ctrl_c_finishes_the_batch_and_stops_within_ten_seconds(endless: Path) -> None:
    """Until then the state folder is its own."""
    process = running(endless)
    second = penstock("run", endless, "--drain")
    assert second.returncode == 4
    assert f"process {process.pid}" in second.stderr
    below = descendants(process.pid)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=20)
    assert time.monotonic() - began < 12
    assert process.returncode == 0, rest
    assert "Traceback" not in rest
    assert "finishing the current batch" in rest
    assert below
    assert not any(_is_java(pid) for pid in below)
    counted = objects(penstock("peek", endless, "counted", "--json").stdout)
    assert len(counted) == 5


def test_a_second_ctrl_c_stops_at_once_and_leaves_no_process(endless: Path) -> None:
    process = running(endless)
    below = descendants(process.pid)
    process.send_signal(signal.SIGINT)
    next(line for line in _lines(process) if "finishing" in line)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    assert time.monotonic() - began < 3
    assert process.returncode == 130
    deadline = time.monotonic() + 5
    while any(_is_java(pid) for pid in below) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(_is_java(pid) for pid in below)


def _is_java(pid: int) -> bool:
    try:
        return b"java" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def typed(arguments: list[str], keys: list[tuple[str, str]]) -> tuple[int, str]:
    """Runs a command on a terminal of its own; each entry of `keys` is what to wait for and what to type then."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(PENSTOCK[0], [*PENSTOCK, *arguments], os.environ | QUICK | {"TERM": "xterm", "LINES": "40", "COLUMNS": "150"})
    seen = ""
    for awaited, text in [*keys, ("\0never", "")]:
        start = len(seen)
        deadline = time.monotonic() + 90
        while awaited not in seen[start:] and time.monotonic() < deadline:
            if terminal not in select.select([terminal], [], [], 0.5)[0]:
                continue
            try:
                piece = os.read(terminal, 65536).decode(errors="replace")
            except OSError:
                break
            if "\x1b[6n" in piece:  # the shell asks where its cursor is
                os.write(terminal, b"\x1b[1;1R")
            seen += piece
        else:
            if text:
                os.write(terminal, text.encode())
            continue
        break
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), seen


def test_the_shell_lists_answers_and_survives_mistakes(app: Path) -> None:
    code, seen = typed(
        ["sql", str(app)],
        [
            ("penstock>", ".tables\r"),
            ("view", ".schema orders\r"),
            ("decimal(12,2)", "SELECT customr FROM orders;\r"),
            ("error", "SELECT count(*)\rAS n FROM orders;\r"),
            (" s\r\n", ".quit\r"),
        ],
    )
    assert code == 0, seen
    assert "Traceback" not in seen
    assert (app / ".penstock" / "sql_history").read_text().count("+SELECT") == 2


def test_on_a_terminal_run_shows_a_live_table(app: Path) -> None:
    code, seen = typed(["run", str(app), "--drain"], [])
    assert code == 0, seen
    assert "watermark" in seen
    assert "state rows" in seen
    assert "Traceback" not in seen


@pytest.mark.parametrize("flags", [[], ["--python"]], ids=["sql", "python"])
def test_a_new_app_runs_at_once(tmp_path: Path, flags: list[str]) -> None:
    assert penstock("new", "mine", *flags, cwd=tmp_path).returncode == 0
    assert penstock("check", "mine", "--strict", cwd=tmp_path).returncode in (0, 1)
    done = penstock("batch", "mine", "hottest", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(objects(done.stdout)) == 3


def test_the_demo_ends_by_itself_with_a_summary_and_can_be_changed(tmp_path: Path) -> None:
    done = penstock("demo", "--seconds", "6", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    for view in ("moving_average", "top_pages", "sales_by_country", "sessions", "turnover", "best_products"):
        assert re.search(rf"^{view}: [\d,]+ row", done.stdout, re.MULTILINE), done.stdout
    copy = tmp_path / "penstock-demo" / "shop.sql"
    copy.write_text(copy.read_text().replace("rank <= 3", "rank <= 5"))
    assert penstock("check", "penstock-demo", cwd=tmp_path).returncode == 0
    again = penstock("run", "penstock-demo", "--drain", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    ranks = {row["rank"] for row in objects(penstock("peek", "penstock-demo", "best_products", "-n", "100", "--json", cwd=tmp_path).stdout)}
    assert ranks == {1, 2, 3, 4, 5}
