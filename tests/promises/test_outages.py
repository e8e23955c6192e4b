"""Parts outside go away during a live run: each is named within ten seconds, and when it is back the run goes on with nothing lost or doubled.

`make outages` has outages of a minute and prints how long it took to name each and to go on after it; `make test` has a few seconds.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock.chaos.parts import OwnBroker, fill, free, may_mount
from penstock.dev.broker import free_port
from penstock.dev.produce import produce
from penstock.errors import OutageError
from penstock.observe.health import health
from penstock.observe.prometheus import exposition
from penstock.observe.request import RunRequest
from penstock.testing.postgres import TemporaryPostgres
from penstock.testing.trial import Live, Trial, eventually
from penstock.verify.run import verify

NAMED_WITHIN_S = 10.0
DOWN_S = float(os.environ.get("PENSTOCK_OUTAGE_S", "3"))
SALES = "CREATE STREAM sales (item STRING, amount INT) WITH (connector = 'files', path = 'sales', format = 'json');"
OTHER = "CREATE STREAM notes (n INT) WITH (connector = 'files', path = 'notes', format = 'json');"
COUNTED = "CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM notes;"
TOTALS = "CREATE MATERIALIZED VIEW totals AS SELECT item, sum(amount) AS total FROM sales GROUP BY item;"
COPY = "CREATE MATERIALIZED VIEW copy AS SELECT item, amount FROM sales;"
log = logging.getLogger("tests.outages")


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[OwnBroker]:
    """A broker that a test may stop."""
    own = OwnBroker(tmp_path / "kafka")
    own.broker.start(port=0)
    yield own
    own.broker.stop()


@pytest.fixture
def server() -> Iterator[TemporaryPostgres]:
    """A Postgres that a test may stop."""
    with TemporaryPostgres() as own:
        yield own


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk that a test may fill."""
    if not may_mount():
        pytest.skip("only root can mount a small disk")
    place = tmp_path / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "penstock-outage", str(place)], check=True)
    yield place
    free(place)
    subprocess.run(["umount", "-l", str(place)], check=True)


def options(server: TemporaryPostgres) -> str:
    return ", ".join(f"{name} = '{value}'" for name, value in server.parameters().items())


def named(running: Live, job: str, words: str) -> float:
    """Wait until the job says what is away, which must not take long; health and metrics say so too. The seconds that it took."""
    began = time.monotonic()
    running.until(lambda: running.last[job].status == "outage" and words in running.last[job].detail)
    took = time.monotonic() - began
    assert took < NAMED_WITHIN_S
    found = health(list(running.last.values()), time.time(), 120)
    assert not found.ok
    assert any(words in reason for reason in found.reasons), found
    exposed = exposition(list(running.last.values()), time.time()).decode()
    assert f'penstock_job_status{{job="{job}",status="outage"}} 1' in exposed
    return took


def status_of(trial: Trial, view: str) -> tuple[str, str]:
    with trial.engine() as engine:
        return next((found.status, found.detail) for found in engine.status() if found.view == view)


def named_by_status(trial: Trial, view: str, words: str) -> bool:
    try:
        status, detail = status_of(trial, view)
    except OutageError as away:  # the results store itself
        return words in str(away)
    return status == "outage" and words in detail


def lived_through(
    running: Live, job: str, words: str, away: Callable[[], object], back: Callable[[], object], meanwhile: Callable[[], object]
) -> None:
    away()
    named_s = named(running, job, words)
    meanwhile()
    time.sleep(DOWN_S)
    assert running.thread.is_alive()
    assert running.last[job].status == "outage"
    assert not any(name in running.last[job].detail for name in ("Exception", "org.apache", "java.", "psycopg"))
    began = time.monotonic()
    back()
    running.until(lambda: running.last[job].status == "running")
    log.warning("%s: away for %g s, named after %.1f s, running %.1f s after it was back", words, DOWN_S, named_s, time.monotonic() - began)


def all_equal(trial: Trial) -> None:
    with trial.engine() as engine:
        found = list(verify(engine, session=trial.session))
    assert found
    assert [verdict.as_json() for verdict in found if not verdict.equal] == []


def notes_go_on(trial: Trial, running: Live) -> None:
    """The job that needs nothing of what is away takes a new row."""
    before = running.last["counted"].epoch
    trial.feed("notes", {"n": 1})
    running.until(lambda: running.last["counted"].epoch > before)


def test_a_broker_that_goes_away_is_named_waited_for_and_read_on(trial: Trial, broker: OwnBroker, caplog: pytest.LogCaptureFixture) -> None:
    """Source and sink at once: Kafka to Kafka, exactly-once; the view over files goes on."""
    servers = broker.servers
    produce([json.dumps({"item": "tea", "amount": 1}).encode()], servers, "sales", partitions=1)
    stream = f"CREATE STREAM sales (item STRING, amount INT) WITH (connector = 'kafka', servers = '{servers}', topic = 'sales');"
    sink = f"CREATE SINK out FROM copy WITH (connector = 'kafka', servers = '{servers}', topic = 'out');"
    trial.write("app.sql", stream + OTHER + TOTALS + COPY + COUNTED + sink)
    trial.feed("notes", {"n": 0})
    with trial.live() as running:
        running.until(lambda: len(running.last) == 3 and all(job.epoch >= 0 for job in running.last.values()))
        with caplog.at_level(logging.WARNING, "penstock"):
            lived_through(running, "copy", f"Kafka at {servers}", broker.kill, broker.start, lambda: notes_go_on(trial, running))
        assert any(servers in record.getMessage() and "waits" in record.getMessage() for record in caplog.records)
        produce([json.dumps({"item": "tea", "amount": 2}).encode()], servers, "sales")
        eventually(lambda: trial.rows("totals") == [{"item": "tea", "total": 3}])
        running.until(lambda: running.last["copy"].epoch >= 1)
    all_equal(trial)


@pytest.mark.parametrize("place", ["sink", "store"])
def test_a_postgres_that_goes_away_is_named_waited_for_and_written_on(trial: Trial, server: TemporaryPostgres, place: str) -> None:
    sink = f"CREATE SINK out FROM copy WITH (connector = 'postgres', table = 'out', {options(server)});"
    trial.write("app.sql", SALES + OTHER + TOTALS + COPY + COUNTED + (sink if place == "sink" else ""))
    url = f"postgres://{server.user}:{server.password}@{server.host}:{server.port}/postgres"
    chosen = trial.having(store=url) if place == "store" else trial
    for stream, row in (("sales", {"item": "tea", "amount": 1}), ("notes", {"n": 0})):
        trial.feed(stream, row)
    with chosen.live() as running:
        running.until(lambda: len(running.last) == 3 and all(job.epoch >= 0 for job in running.last.values()))

        def meanwhile() -> None:
            trial.feed("sales", {"item": "tea", "amount": 2})
            if place == "sink":
                notes_go_on(trial, running)
                eventually(lambda: status_of(trial, "copy")[0] == "outage", 10)
                assert str(server.port) in status_of(trial, "copy")[1]

        lived_through(running, "copy", str(server.port), server.kill, server.start, meanwhile)
        running.until(lambda: running.last["copy"].epoch >= 1 and running.last["totals"].epoch >= 1)
    assert len(chosen.rows("copy")) == 2
    all_equal(chosen)


def test_a_source_folder_that_goes_away_is_named_and_read_on_when_it_is_back(trial: Trial) -> None:
    trial.write("app.sql", SALES + OTHER + TOTALS + COUNTED)
    trial.feed("sales", {"item": "tea", "amount": 1})
    trial.feed("notes", {"n": 0})
    folder, aside = trial.folder / "sales", trial.folder / "aside"
    with trial.live() as running:
        running.until(lambda: len(running.last) == 2 and all(job.epoch >= 0 for job in running.last.values()))
        time.sleep(2.5)  # it has been seen
        lived_through(running, "totals", str(folder), lambda: folder.rename(aside), lambda: aside.rename(folder), lambda: notes_go_on(trial, running))
        trial.feed("sales", {"item": "tea", "amount": 2})
        running.until(lambda: running.last["totals"].epoch >= 1)
    assert trial.rows("totals") == [{"item": "tea", "total": 3}]
    all_equal(trial)


@pytest.mark.parametrize("place", ["state", "sink"])
def test_a_full_disk_is_named_and_written_on_when_there_is_room(trial: Trial, disk: Path, place: str) -> None:
    sink = f"CREATE SINK out FROM copy WITH (connector = 'files', path = '{disk / 'out'}', format = 'json');"
    trial.write("app.sql", SALES + COPY + (sink if place == "sink" else ""))
    (disk / "state").mkdir()
    if place == "state":
        (trial.folder / ".penstock").symlink_to(disk / "state")
    trial.feed("sales", {"item": "tea", "amount": 1})
    with trial.live() as running:
        running.until(lambda: running.last and running.last["copy"].epoch >= 0)

        def meanwhile() -> None:
            trial.feed("sales", {"item": "tea", "amount": 2})
            eventually(lambda: named_by_status(trial, "copy", "full"), 10)

        lived_through(running, "copy", "full", lambda: fill(disk), lambda: free(disk), meanwhile)
        running.until(lambda: running.last["copy"].epoch >= 1)
    assert [row["amount"] for row in trial.rows("copy")] == [1, 2]
    all_equal(trial)


def test_a_drain_waits_for_its_bound_which_it_says_and_a_live_run_for_the_one_that_was_set(trial: Trial, caplog: pytest.LogCaptureFixture) -> None:
    nobody = f"127.0.0.1:{free_port()}"
    trial.write("app.sql", f"CREATE STREAM sales (item STRING, amount INT) WITH (connector = 'kafka', servers = '{nobody}', topic = 't');" + COPY)
    began = time.monotonic()
    error, seen = trial.having(drain_gives_up_after="4 seconds").fail(OutageError)
    assert 4 <= time.monotonic() - began < 30
    assert nobody in error.message
    assert seen.last["copy"].status == "failed"
    assert any("up to 4 s" in record.getMessage() for record in caplog.records)
    began = time.monotonic()
    with trial.having(give_up_after="3 seconds").engine() as engine, pytest.raises(OutageError):
        engine.run(RunRequest())
    assert time.monotonic() - began >= 3


def test_a_live_run_starts_before_the_parts_that_it_needs(trial: Trial, server: TemporaryPostgres) -> None:
    """Store and broker are away at the start: the run waits for both, and names them."""
    servers = f"127.0.0.1:{free_port()}"
    trial.write("app.sql", f"CREATE STREAM far (v STRING) WITH (connector = 'kafka', servers = '{servers}', topic = 't');" + SALES + COPY
                + "CREATE MATERIALIZED VIEW faraway AS SELECT v FROM far;")  # fmt: skip
    trial.feed("sales", {"item": "tea", "amount": 1})
    url = f"postgres://{server.user}:{server.password}@{server.host}:{server.port}/postgres"
    server.stop()
    with trial.having(store=url).live() as running:
        running.until(lambda: len(running.last) == 2)
        named(running, "copy", str(server.port))
        server.start()
        running.until(lambda: running.last["copy"].epoch >= 0)
        running.until(lambda: running.last["copy"].status == "running")
        named(running, "faraway", servers)


def test_a_source_folder_without_rights_is_named_and_read_when_the_rights_are_there(tmp_path: Path) -> None:
    """Root may read everything: so the run does without that privilege of root's, and the rights bind it as they bind others."""
    (tmp_path / "sales").mkdir()
    (tmp_path / "sales" / "0.json").write_text('{"item": "tea", "amount": 1}\n', encoding="utf-8")
    (tmp_path / "app.sql").write_text(SALES + TOTALS, encoding="utf-8")
    dropped = "-dac_override,-dac_read_search"
    bound = ["setpriv", f"--bounding-set={dropped}", f"--inh-caps={dropped}"] if os.geteuid() == 0 else []
    command = [*bound, sys.executable, "-m", "penstock"]
    (tmp_path / "sales").chmod(0)
    checked = subprocess.run([*command, "check", str(tmp_path)], capture_output=True, text=True, check=False)
    assert checked.returncode == 2, checked.stderr
    assert str(tmp_path / "sales") in checked.stdout + checked.stderr
    small = {"PENSTOCK_MASTER": "local[2]", "PENSTOCK_DRIVER_MEMORY": "1g", "PENSTOCK_SHUFFLE_PARTITIONS": "2", "PENSTOCK_FAST_START": "true"}
    with subprocess.Popen([*command, "run", str(tmp_path)], stderr=subprocess.PIPE, text=True, env=os.environ | small) as process:
        assert process.stderr is not None
        named = next(line for line in process.stderr if "the job waits" in line)
        assert str(tmp_path / "sales") in named
        assert "rights" in named or "Permission denied" in named
        (tmp_path / "sales").chmod(0o755)
        next(line for line in process.stderr if "totals: running" in line and "rows 1" in line)
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        assert process.wait(60) == 0, rest
