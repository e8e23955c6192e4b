"""Files and folders that the user may not read: each verb says which and what to do. Root may read everything, so it gives that up first."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

APP = """
CREATE STREAM orders (id BIGINT) WITH (connector = 'files', path = '{path}', format = 'json');
CREATE MATERIALIZED VIEW copied AS SELECT id FROM orders;
"""
_DROP, _OVERRIDE, _SEARCH = 24, 1, 2  # prctl(PR_CAPBSET_DROP): the rights to read and to search whatever the modes say


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "app"
    (folder / "input").mkdir(parents=True)
    (folder / "input" / "0.json").write_text('{"id": 1}\n', encoding="utf-8")
    yield folder
    for path in (folder / "input", folder / "input" / "0.json", folder / "app.sql"):
        path.chmod(0o755)


def ended(folder: Path, *arguments: str) -> tuple[int, str]:
    """The exit code of a verb and all that it printed, run by a user to whom modes of files apply."""
    command = [sys.executable, "-m", "penstock", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, preexec_fn=_as_others if os.geteuid() == 0 else None)
    assert "internal error" not in done.stderr
    return done.returncode, done.stdout + done.stderr


def _as_others() -> None:
    library = ctypes.CDLL(None)
    library.prctl(_DROP, _OVERRIDE, 0, 0, 0)
    library.prctl(_DROP, _SEARCH, 0, 0, 0)


@pytest.mark.parametrize("path", ["input", "input/*.json", "input/0.json"])
@pytest.mark.parametrize("mode", [0o000, 0o300])
def test_check_names_the_folder_and_the_right(app: Path, path: str, mode: int) -> None:
    (app / "app.sql").write_text(APP.format(path=path), encoding="utf-8")
    (app / "input").chmod(mode)
    code, output = ended(app, "check", "app.sql")
    if path == "input/0.json" and mode == 0o300:
        assert code == 0, output  # a folder that may be entered need not be listed to read one file of it
        return
    assert code == 2
    assert f"stream `orders`: no right to read the folder {app / 'input'}" in output
    assert f"chmod +rx {app / 'input'}" in output


@pytest.mark.parametrize("verb", [["batch", ".", "copied"], ["run", ".", "--drain"], ["peek", ".", "orders"]], ids=lambda verb: verb[0])
def test_verbs_that_read_it_end_as_a_source_does_that_cannot_be_read(app: Path, verb: list[str]) -> None:
    (app / "app.sql").write_text(APP.format(path="input"), encoding="utf-8")
    (app / "input").chmod(0o000)
    code, output = ended(app, *verb)
    assert code == 3
    assert f"no right to read the folder {app / 'input'}" in output


def test_a_single_file_is_named_as_a_file(app: Path) -> None:
    (app / "app.sql").write_text(APP.format(path="input/0.json"), encoding="utf-8")
    (app / "input" / "0.json").chmod(0o000)
    code, output = ended(app, "check", "app.sql")
    assert code == 2
    assert f"no right to read the file {app / 'input' / '0.json'}" in output


def test_an_app_file_that_may_not_be_read_says_so_and_nothing_of_utf8(app: Path) -> None:
    (app / "app.sql").write_text(APP.format(path="input"), encoding="utf-8")
    (app / "app.sql").chmod(0o000)
    for place in ("app.sql", "."):
        code, output = ended(app, "check", place)
        assert code == 2
        assert "app.sql cannot be read: you have no right to read it" in output
        assert "UTF-8" not in output


def test_an_app_file_in_another_encoding_says_so(app: Path) -> None:
    (app / "app.sql").write_bytes(b"-- caf\xe9\n" + APP.format(path="input").encode())
    code, output = ended(app, "check", "app.sql")
    assert code == 2
    assert "app.sql is not UTF-8" in output
