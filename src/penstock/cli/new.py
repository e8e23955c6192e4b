"""The verb `new`: a small app that runs at once."""

from __future__ import annotations

import shlex
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated

import typer

from penstock.errors import AppFault


def new(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder that does not exist yet, or is empty.", show_default=False)],
    python: Annotated[bool, typer.Option("--python", help="Declare the app in Python instead of SQL.")] = False,
) -> None:
    """Write a small app to start from.

    It runs at once, with the embedded generator as its source.
    """
    starter = files("penstock.cli") / "starter"
    file = "app.py" if python else "app.sql"
    words = {"{name}": folder.resolve().name, "{file}": file}
    texts = {
        file: (starter / ("app.py.txt" if python else "app.sql")).read_text(encoding="utf-8"),
        "penstock.toml": (starter / "penstock.toml").read_text(encoding="utf-8"),
        "README.md": (starter / "README.md").read_text(encoding="utf-8"),
        ".gitignore": ".penstock/\n",
    }
    write_new(folder, {name: _filled(text, words) for name, text in texts.items()})
    typer.echo(f"wrote {', '.join(texts)} to {folder}", err=True)
    path = shlex.quote(str(folder))
    typer.echo(f"next: penstock check {path} && penstock run {path}", err=True)


def write_new(folder: Path, texts: dict[str, str]) -> None:
    """Writes files into a new or empty folder."""
    if folder.is_dir() and any(folder.iterdir()):
        raise AppFault(f"{folder} is not empty", hint="name a folder that does not exist yet")
    write_missing(folder, texts)


def write_missing(folder: Path, texts: dict[str, str]) -> None:
    """Writes files into a folder; one that exists is never overwritten."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            with (folder / name).open("x", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        raise AppFault(f"cannot write to {folder}: {error.strerror}") from error


def packaged(folder: str) -> dict[str, str]:
    """The files of a data folder of this package, by name."""
    found: list[Traversable] = sorted((files("penstock.cli") / folder).iterdir(), key=lambda file: file.name)
    return {file.name: file.read_text(encoding="utf-8") for file in found if file.is_file()}


def _filled(text: str, words: dict[str, str]) -> str:
    for mark, word in words.items():
        text = text.replace(mark, word.replace("\\", "\\\\").replace('"', '\\"') if mark == "{name}" else word)
    return text
