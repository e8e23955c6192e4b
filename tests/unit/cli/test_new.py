"""A new app is written once and never over something."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock import cli


def test_a_new_app_has_its_file_settings_and_a_readme(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for flags, file in (([], "app.sql"), (["--python"], "app.py")):
        folder = tmp_path / file.replace(".", "-")
        with pytest.raises(SystemExit) as ended:
            cli.main(["new", str(folder), *flags])
        assert ended.value.code == 0
        assert {entry.name for entry in folder.iterdir()} == {file, "penstock.toml", "README.md", ".gitignore"}
        assert (folder / "README.md").read_text().startswith(f"# {folder.name}\n")
        assert "{name}" not in (folder / file).read_text()
    assert capsys.readouterr().out == ""


def test_what_to_do_next_can_be_pasted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["new", str(tmp_path / "n ü")])
    assert f"penstock check '{tmp_path}/n ü' && penstock run '{tmp_path}/n ü'\n" in capsys.readouterr().err


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(SystemExit) as ended:
        cli.main(["new", str(tmp_path)])
    assert ended.value.code == 2
    assert "is not empty" in capsys.readouterr().err
    assert [entry.name for entry in tmp_path.iterdir()] == ["mine.txt"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit) as ended:
        cli.main(["new", str(tmp_path / "file" / "app")])
    assert ended.value.code == 2
    assert "cannot write to" in capsys.readouterr().err
