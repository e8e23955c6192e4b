"""Every example gives the answer in its `expected` folder: over history, and live until it has drained."""

from __future__ import annotations

import json
import re
import shutil
import socketserver
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer

from penstock.engine import Engine
from penstock.observe.request import RunRequest
from penstock.wiring import open_app

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = Path(__file__).parent.parent / "examples"
WAIT_S = 90
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


@contextmanager
def opened(app: Path, state: Path, spark: SparkSession) -> Iterator[Engine]:
    engine = open_app(app, state=state, session=spark)
    try:
        yield engine
    finally:
        engine.close()


def drained(engine: Engine) -> None:
    engine.run(RunRequest(drain=True))


def plain(value: object) -> object:
    """The value with every timestamp in one spelling."""
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, str) and MOMENT.fullmatch(value):
        return datetime.fromisoformat(value).isoformat()
    return value


def bag(lines: Iterator[str] | list[str]) -> Counter[str]:
    """Rows without their order; what occurs twice counts twice."""
    return Counter(json.dumps(plain(json.loads(line)), sort_keys=True) for line in lines)


def expected(example: str, view: str) -> Counter[str]:
    return bag((EXAMPLES / example / "expected" / f"{view}.jsonl").read_text(encoding="utf-8").splitlines())


def held(engine: Engine, view: str) -> Counter[str]:
    return bag(engine.peek(view, 10_000).lines)


def eventually(what: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        if what():
            return True
        time.sleep(0.2)
    return what()


@contextmanager
def running(engine: Engine) -> Iterator[None]:
    """The app live on a thread, once it has kept an epoch; stopped in order afterwards. What it raised is raised here."""
    stop = threading.Event()
    raised: list[BaseException] = []
    latest: list[int] = []

    def work() -> None:
        try:
            engine.run(RunRequest(stop=stop, report=lambda progress: latest.append(max(job.epoch for job in progress))))
        except BaseException as error:  # shown by the test that ran it
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert eventually(lambda: bool(raised or (latest and latest[-1] >= 0)))
        if not raised:
            yield
    finally:
        stop.set()
        thread.join()
    if raised:
        raise raised[0]


@pytest.mark.parametrize(
    ("app", "views"),
    [
        ("wordcount/folder", ["word_count"]),
        ("wordcount/python", ["word_count"]),
        ("hashtags", ["hashtags", "trending"]),
        ("weblog", ["requests", "malformed", "errors_per_ip", "slow_urls", "rate"]),
        ("everywhere", ["failures"]),
        ("tanks", ["levels", "alarms", "alarms_per_tank"]),
        ("cards", ["card_testing", "impossible_travel"]),
        ("network", ["port_scan", "brute_force"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_batch_and_live_give_the_expected_rows(app: str, views: list[str], tmp_path: Path, spark: SparkSession) -> None:
    example = app.split("/")[0]
    wanted = {view: expected(example, view) for view in views}
    with opened(EXAMPLES / app, tmp_path / "state", spark) as engine:
        assert {view: bag(engine.batch(view).lines) for view in views} == wanted
        drained(engine)
        assert {view: held(engine, view) for view in views} == wanted


def test_every_example_is_checked_without_a_finding_that_is_an_error() -> None:
    apps = [
        EXAMPLES / name
        for name in (
            "wordcount/folder",
            "wordcount/python",
            "wordcount/socket",
            "wordcount/kafka",
            "hashtags",
            "weblog",
            "everywhere",
            "tanks",
            "cards",
            "network",
        )
    ]
    for app in apps:
        engine = open_app(app)
        assert [finding for finding in engine.check() if finding.severity == "error"] == []
        engine.close()


def test_every_example_has_a_page_and_expected_rows() -> None:
    folders = [folder for folder in EXAMPLES.iterdir() if folder.is_dir()]
    assert len(folders) >= 4
    assert [folder.name for folder in folders if not (folder / "README.md").is_file()] == []
    elsewhere = ("deploy", "notebook")  # files to copy, and cells that a test of their own runs
    assert [folder.name for folder in folders if folder.name not in elsewhere and not list((folder / "expected").glob("*.jsonl"))] == []


def test_the_two_faces_of_word_count_are_one_plan() -> None:
    views = [open_app(EXAMPLES / "wordcount" / face).declared.views["word_count"] for face in ("folder", "python")]
    assert views[0].query == views[1].query


def input_lines() -> list[str]:
    return [line for path in sorted((EXAMPLES / "wordcount" / "input").iterdir()) for line in path.read_text(encoding="utf-8").splitlines()]


def moved(app: str, into: Path, old: str, new: str) -> Path:
    """A copy of an example that talks to another port."""
    shutil.copytree(EXAMPLES / app, into)
    text = (into / "app.sql").read_text(encoding="utf-8")
    assert old in text
    (into / "app.sql").write_text(text.replace(old, new), encoding="utf-8")
    return into


def test_words_from_a_socket(tmp_path: Path, spark: SparkSession) -> None:
    over = threading.Event()

    class Lines(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.sendall("".join(f"{line}\n" for line in input_lines()).encode())
            over.wait(WAIT_S)

    with socketserver.ThreadingTCPServer(("localhost", 0), Lines) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        app = moved("wordcount/socket", tmp_path / "app", "'9999'", f"'{server.server_address[1]}'")
        try:
            with opened(app, tmp_path / "state", spark) as engine, running(engine):
                assert eventually(lambda: held(engine, "word_count") == expected("wordcount", "word_count"))
        finally:
            over.set()
            server.shutdown()


def test_words_from_kafka(tmp_path: Path, spark: SparkSession, kafka: str) -> None:
    producer = Producer({"bootstrap.servers": kafka})
    for line in input_lines():
        producer.produce("lines", line.encode())
    assert producer.flush(30) == 0
    app = moved("wordcount/kafka", tmp_path / "app", "localhost:9092", kafka)
    with opened(app, tmp_path / "state", spark) as engine:
        assert bag(engine.batch("word_count").lines) == expected("wordcount", "word_count")
        drained(engine)
        assert held(engine, "word_count") == expected("wordcount", "word_count")


def failures_in(lines: list[str]) -> Counter[str]:
    """The view of `everywhere`, by plain Python."""
    found: dict[str, list[tuple[str, str]]] = {}
    for at, level, host, service in (line.split(" ")[:4] for line in lines):
        if level == "ERROR":
            found.setdefault(service, []).append((host, at))
    rows = [
        {"service": service, "failures": len(seen), "hosts": len({host for host, _ in seen}), "latest": max(at for _, at in seen)}
        for service, seen in found.items()
    ]
    return bag([json.dumps(row) for row in rows])


def written_log(path: Path, lines: int, seed: int) -> list[str]:
    """A log made by the example's own script."""
    names: dict[str, object] = {"__name__": "make_log"}
    exec(compile((EXAMPLES / "everywhere" / "make_log.py").read_text(encoding="utf-8"), "make_log.py", "exec"), names)
    made = list(names["log_lines"](lines, seed))  # type: ignore[operator]
    path.write_text("".join(f"{line}\n" for line in made), encoding="utf-8")
    return made


def test_one_view_peeked_at_a_small_log(tmp_path: Path, spark: SparkSession) -> None:
    with opened(EXAMPLES / "everywhere", tmp_path / "state", spark) as engine:
        assert held(engine, "failures") == expected("everywhere", "failures")


def test_one_view_in_batch_over_a_big_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> None:
    lines = written_log(tmp_path / "big.log", 200_000, seed=2)
    monkeypatch.setenv("SERVICE_LOG", str(tmp_path / "big.log"))
    with opened(EXAMPLES / "everywhere", tmp_path / "state", spark) as engine:
        assert bag(engine.batch("failures").lines) == failures_in(lines)


def test_one_view_live_over_a_log_that_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> None:
    log = tmp_path / "live.log"
    lines = written_log(log, 300, seed=3)
    monkeypatch.setenv("SERVICE_LOG", str(log))
    with opened(EXAMPLES / "everywhere", tmp_path / "state", spark) as engine, running(engine):
        assert eventually(lambda: held(engine, "failures") == failures_in(lines))
        with log.open("a", encoding="utf-8") as growing:
            for line in written_log(tmp_path / "more.log", 100, seed=4):
                growing.write(f"{line}\n")
                lines.append(line)
        assert eventually(lambda: held(engine, "failures") == failures_in(lines))
