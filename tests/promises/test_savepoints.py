"""A savepoint holds every kind of state: from it an app goes on in another state folder as if nothing had happened."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.__main__ import program
from penstock.errors import StateError
from penstock.savepoint import restore
from penstock.testing.trial import Row, Trial
from penstock.verify.run import verify

pytestmark = pytest.mark.timeout(600)
APP = """
CREATE STREAM payments (id INT, card STRING, amount DOUBLE, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 10 SECONDS)
WITH (connector = 'files', path = 'payments', format = 'json');
CREATE STREAM ticks (k BIGINT) WITH (connector = 'generator', rows = '500', k = 'n');
CREATE MATERIALIZED VIEW counted AS
  SELECT * FROM map_with_state(payments PARTITION BY card ORDER BY at, 'own:count', 'returns id INT, n INT', 'state INT');
CREATE MATERIALIZED VIEW totals AS SELECT card, sum(amount) AS total FROM payments GROUP BY card;
CREATE MATERIALIZED VIEW best AS SELECT * FROM totals ORDER BY total DESC, card LIMIT 2;
CREATE MATERIALIZED VIEW closed AS SELECT window.start AS since, count(*) AS n FROM payments GROUP BY window(at, '20 seconds') EMIT ON WINDOW CLOSE;
CREATE MATERIALIZED VIEW ticked AS SELECT k % 3 AS third, count(*) AS n FROM ticks GROUP BY k % 3;
"""
OWN = "def count(row, state):\n    n = (state or 0) + 1\n    return {'id': row['id'], 'n': n}, n\n"


class Elsewhere(Trial):
    """The same app with another state folder."""

    @property
    def state(self) -> Path:
        return self.folder.parent / "elsewhere"


def rows(first: int, count: int) -> list[Row]:
    return [
        {"id": n, "card": f"c{n % 7}", "amount": float(n % 5), "at": f"2026-01-01T00:{n // 60:02}:{n % 60:02}Z"} for n in range(first, first + count)
    ]


def saved(trial: Trial, to: Path, *view: str) -> dict[str, int]:
    done = CliRunner().invoke(program(), ["savepoint", str(trial.folder), *view, "--to", str(to), "--state", str(trial.state), "--json"])
    assert done.exit_code == 0, done.output
    epochs: dict[str, int] = json.loads(done.stdout)["epochs"]
    return epochs


def test_an_app_goes_on_elsewhere_from_a_savepoint(trial: Trial, tmp_path: Path) -> None:
    trial.write("app.sql", APP)
    trial.write("own.py", OWN)
    trial.feed("payments", *rows(0, 40))
    trial.drain()
    epochs = saved(trial, tmp_path / "point")
    assert epochs.keys() == {"counted", "totals", "closed", "ticked"}
    assert min(epochs.values()) >= 0
    assert saved(trial, tmp_path / "one", "best").keys() == {"totals"}
    moved = Elsewhere(trial.folder, trial.session, trial.settings)
    assert restore(tmp_path / "point", moved.state, trial.folder.name)
    assert not restore(tmp_path / "point", moved.state, trial.folder.name)  # the same words again
    shutil.rmtree(trial.state)
    moved.feed("payments", *rows(40, 60))
    moved.drain()
    with moved.engine() as engine:
        assert [verdict.equal for verdict in verify(engine, session=moved.session)] == [True] * len(engine.declared.views)
    assert len(moved.rows("counted")) == 90
    assert {row["n"] for row in moved.rows("ticked")} == {166, 167}
    for view in ("counted", "totals", "best", "closed", "ticked"):
        assert sorted(map(str, moved.rows(view))) == sorted(map(str, moved.batch(view))), view


def test_what_cannot_be_started_from_is_named(trial: Trial, tmp_path: Path) -> None:
    with pytest.raises(StateError, match="is no savepoint"):
        restore(tmp_path, tmp_path / "new", "app")
    trial.write("app.sql", "CREATE STREAM s (a INT) WITH (connector = 'files', path = 's', format = 'json'); CREATE VIEW v AS SELECT a FROM s;")
    trial.feed("s", {"a": 1})
    trial.drain()
    saved(trial, tmp_path / "point")
    with pytest.raises(StateError, match="has state of its own"):
        restore(tmp_path / "point", trial.state, trial.folder.name)
    with pytest.raises(StateError, match="a savepoint of the app"):
        restore(tmp_path / "point", tmp_path / "new", "another")
    done = CliRunner().invoke(program(), ["savepoint", str(trial.folder), "--to", str(tmp_path / "point"), "--state", str(trial.state)])
    assert isinstance(done.exception, StateError) or done.exit_code
    offsets = next((tmp_path / "point").glob("checkpoints/v/*/offsets/0"))
    offsets.write_text("{}", encoding="utf-8")
    with pytest.raises(StateError, match="is not what it was"):
        restore(tmp_path / "point", tmp_path / "new", trial.folder.name)
    assert not (tmp_path / "new").exists()
