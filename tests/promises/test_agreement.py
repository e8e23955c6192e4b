"""A state folder, a checkpoint or a sink of another moment is noticed before a row is lost or doubled."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.catalog import Catalog
from penstock.errors import RefusalError, StateError
from penstock.store.postgres_server import PostgresServer
from penstock.testing.postgres import TemporaryPostgres
from penstock.testing.trial import Trial

APP = """
CREATE STREAM sales (item STRING, amount INT) WITH (connector = 'files', path = 'sales', format = 'json');
CREATE MATERIALIZED VIEW copy AS SELECT item, amount FROM sales;
CREATE SINK out FROM copy WITH ({sink}, delivery = 'exactly-once');
"""
ALONE = APP.partition("CREATE SINK")[0]
FILES = "connector = 'files', path = 'out'"
PLACES = ("out", "other", "third")


def sold(trial: Trial, sink: str = FILES, times: int = 1) -> None:
    """Run the app once for each row."""
    trial.write("app.sql", APP.format(sink=sink))
    for number in range(times):
        trial.feed("sales", {"item": "tea", "amount": number})
        trial.drain()


def current(trial: Trial) -> Path:
    """The checkpoint of the view's present generation."""
    found = Catalog(trial.state).current("copy")
    assert found is not None
    return found[1]


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:20])


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("damage", "file"),
    [(flipped, "offsets/1"), (cut_short, "commits/1"), (Path.unlink, "offsets/1"), (Path.unlink, "metadata"), (flipped, "metadata")],
)
def test_a_damaged_checkpoint_of_spark_is_refused_and_its_file_named(trial: Trial, damage: Callable[[Path], None], file: str) -> None:
    """Also where Spark itself would have gone on, or would have failed in words of its own."""
    sold(trial, times=2)
    damaged = current(trial) / file
    damage(damaged)
    error, seen = trial.fail(StateError)
    assert str(damaged) in error.message
    assert seen.last["copy"].restarts == 0


@pytest.mark.parametrize("connector", ["files", "postgres", "kafka"])
def test_an_older_copy_of_the_state_folder_is_refused_by_what_the_sink_has(
    trial: Trial, kafka: str, postgres_server: TemporaryPostgres, database: str, connector: str
) -> None:
    login = ", ".join(f"{name} = '{value}'" for name, value in postgres_server.parameters(database).items())
    places = {
        "files": FILES,
        "postgres": f"connector = 'postgres', table = 't', {login}",
        "kafka": f"connector = 'kafka', servers = '{kafka}', topic = '{uuid.uuid4().hex}'",
    }
    sold(trial, places[connector])
    shutil.copytree(trial.state, trial.folder.parent / "copy")
    sold(trial, places[connector], 2)
    shutil.rmtree(trial.state)
    (trial.folder.parent / "copy").rename(trial.state)
    error, _ = trial.fail(StateError)
    named = {"files": "out/_penstock", "postgres": "penstock_sinks", "kafka": "__penstock_progress"}[connector]
    assert "sink `out` has epoch 2 of view `copy`, but the results store only 0" in error.message
    assert named in error.message


def test_an_older_copy_of_what_a_sink_holds_is_refused(trial: Trial) -> None:
    sold(trial)
    shutil.copytree(trial.folder / "out", trial.folder.parent / "copy")
    sold(trial, times=2)
    shutil.rmtree(trial.folder / "out")
    (trial.folder.parent / "copy").rename(trial.folder / "out")
    error, _ = trial.fail(StateError)
    assert "has view `copy` up to epoch 0, but epochs up to 2 were delivered to it" in error.message


def test_a_sink_that_moves_elsewhere_begins_there_with_all_of_the_log(trial: Trial) -> None:
    sold(trial, times=2)
    trial.write("app.sql", APP.format(sink=FILES.replace("'out'", "'moved'")))
    trial.drain()
    assert sorted(path.name for path in (trial.folder / "moved").glob("epoch=*")) == ["epoch=0", "epoch=1"]


def test_another_guarantee_for_a_sink_that_has_delivered_is_refused_where_rows_would_come_twice(trial: Trial) -> None:
    """From at-least-once to exactly-once: what is there is not known well enough. Elsewhere it begins there."""
    sold(trial, FILES)
    trial.write("app.sql", APP.format(sink=FILES.replace("'out'", "'other'")).replace("exactly-once", "at-least-once"))
    trial.drain()
    trial.write("app.sql", APP.format(sink=FILES.replace("'out'", "'other'")))
    error, _ = trial.fail(RefusalError)
    assert "other holds epochs, but no file _penstock" in error.message
    trial.write("app.sql", APP.format(sink=FILES.replace("'out'", "'third'")))
    trial.drain()
    there = [sorted(line for file in (trial.folder / place).rglob("*.json") for line in file.read_text().splitlines()) for place in PLACES]
    assert there[0]
    assert there == [there[0]] * len(PLACES)


def test_a_sink_added_to_a_view_without_a_store_after_it_ran_is_refused_and_not_left_with_a_hole(trial: Trial) -> None:
    """Where the view starts over it gets everything, and the exactly-once sink beside it has nothing twice."""
    text = APP.format(sink=FILES).replace("copy AS", "copy WITH (store = false) AS")
    second = "CREATE SINK second FROM copy WITH (connector = 'files', path = 'other');"
    for number, app in enumerate((text, text + second)):
        trial.write("app.sql", app)
        trial.feed("sales", {"item": "tea", "amount": number})
        if number == 0:
            trial.drain()
    error, _ = trial.fail(StateError)
    assert "sink `second` misses epoch 0 of view `copy`" in error.message
    current = Catalog(trial.state).current("copy")
    assert current is not None
    assert str(current[1]) in str(error.hint)
    shutil.rmtree(current[1])
    trial.drain()
    assert amounts(trial, "out") == amounts(trial, "other") == [0, 1]


def amounts(trial: Trial, place: str) -> list[int]:
    files = sorted((trial.folder / place).glob("epoch=*/*.json"))
    return sorted(json.loads(line)["amount"] for file in files for line in file.read_text(encoding="utf-8").splitlines())


def test_a_results_store_is_that_of_one_state_folder(trial: Trial, postgres_server: TemporaryPostgres, database: str) -> None:
    """Another folder's first run would remove the rows of the first, which would then go on over what is left."""
    given = postgres_server.parameters(database)
    there = trial.having(store="postgres://{user}:{password}@{host}:{port}/{database}".format_map(given))
    trial.write("app.sql", ALONE)
    trial.feed("sales", {"item": "tea", "amount": 0})
    there.drain()
    kept = trial.state.rename(trial.folder / "kept")
    error, _ = there.fail(StateError)
    assert f"rows that the state folder {trial.state} made" in error.message
    handed = f"UPDATE penstock_owners SET folder = '{Catalog(trial.state).folder}' WHERE folder = '{Catalog(kept).folder}'"
    assert f"build the view from history here: {handed}" in (error.hint or "")
    assert [row["amount"] for row in there.rows("copy")] == [0]
    with PostgresServer.from_options({name: str(value) for name, value in given.items()}).connect() as connection:
        connection.execute(handed.replace("UPDATE ", "UPDATE penstock.").encode())
    trial.feed("sales", {"item": "tea", "amount": 1})
    there.drain()
    assert sorted(row["amount"] for row in there.rows("copy")) == [0, 1]
    trial.state.rename(trial.folder / "other")
    kept.rename(trial.state)
    error, seen = there.fail(StateError)
    assert "would mix them with its own" in error.message
    assert f"remove {current(trial)} and UPDATE penstock_owners" in (error.hint or "")
    assert seen.last["copy"].restarts == 0
    assert sorted(row["amount"] for row in there.rows("copy")) == [0, 1]


def test_an_older_copy_of_the_state_folder_is_refused_by_the_life_of_the_rows(trial: Trial) -> None:
    """The ledger of the earlier generation agrees with the older checkpoint, but its rows were replaced since."""
    trial.write("app.sql", ALONE)
    trial.feed("sales", {"item": "tea", "amount": 0})
    trial.drain()
    copied, results = trial.folder / "copied", trial.state / "results.db"
    shutil.copytree(trial.state, copied)
    trial.write("app.sql", ALONE.replace("item, amount FROM", "item, amount + 10 AS amount FROM"))
    trial.drain()
    shutil.copyfile(results, copied / "results.db")
    shutil.rmtree(trial.state)
    copied.rename(trial.state)
    trial.write("app.sql", ALONE)
    error, _ = trial.fail(StateError)
    assert f"than {current(trial)} is; the state folder {trial.state} seems to be an older copy" in error.message
    assert f"remove {current(trial)} to rebuild the view from history" in (error.hint or "")
    shutil.rmtree(current(trial))
    trial.drain()
    assert [row["amount"] for row in trial.rows("copy")] == [0]
