"""The examples of a service and of an image: what they say is valid, and the commands in them exist."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from penstock.__main__ import program

DEPLOY = Path(__file__).parent.parent / "examples" / "deploy"
INSTRUCTIONS = set("FROM RUN COPY ADD ENV ARG USER WORKDIR VOLUME EXPOSE HEALTHCHECK STOPSIGNAL ENTRYPOINT CMD LABEL SHELL".split())


def understood(words: list[str]) -> None:
    """Fails unless `penstock` takes these words; nothing is run."""
    verbs = get_command(program()).commands  # type: ignore[attr-defined]
    assert words[0] in verbs, f"No such verb: {words[0]}"
    verbs[words[0]].make_context(words[0], words[1:])


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"\\\n", " ", (DEPLOY / "Containerfile").read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in lines]


def test_a_word_that_penstock_does_not_know_is_noticed() -> None:
    for words in (["fly", "/app"], ["run", "/app", "--fast"], ["run"]):
        with pytest.raises(Exception, match=r"No such|Missing"):
            understood(words)


def test_the_image_starts_with_a_base_and_says_only_what_is_an_instruction() -> None:
    found = instructions()
    assert found[0][0] == "FROM"
    assert {name for name, _ in found} <= INSTRUCTIONS
    assert "/" not in found[0][1]


def test_every_command_of_the_image_exists() -> None:
    found = instructions()
    shells = [shlex.split(part) for name, text in found if name == "RUN" for part in text.split("&&")]
    modules = [words[words.index("-m") + 1] for words in shells if words[0] == "python" and "-m" in words]
    assert len(modules) == 2
    assert all(importlib.util.find_spec(module) is not None for module in modules)
    entry = [json.loads(text) for name, text in found if name == "ENTRYPOINT"]
    assert entry == [["penstock"]]
    commands = [words[1:] for words in shells if words[0] == "penstock"] + [json.loads(text) for name, text in found if name == "CMD"]
    assert [words[0] for words in commands] == ["check", "run"]
    for words in commands:
        understood(words)
    health = json.loads(next(text for name, text in found if name == "HEALTHCHECK").partition("CMD ")[2])
    compile(health[2], "healthcheck", "exec")
    assert "9400/health" in health[2]


def unit() -> dict[str, list[str]]:
    pairs = [line.partition("=")[::2] for line in (DEPLOY / "penstock.service").read_text(encoding="utf-8").splitlines() if re.match(r"\w+=", line)]
    return {name: [value for other, value in pairs if other == name] for name, _ in pairs}


def test_every_command_of_the_unit_exists() -> None:
    commands = [shlex.split(text) for text in (*unit()["ExecStartPre"], *unit()["ExecStart"])]
    assert [words[1] for words in commands] == ["check", "run"]
    for words in commands:
        understood(words[1:])


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    text = (DEPLOY / "penstock.service").read_text(encoding="utf-8")
    copy = tmp_path / "penstock.service"
    copy.write_text(text.replace("/opt/penstock/bin/penstock", sys.executable), encoding="utf-8")
    checked = subprocess.run(["systemd-analyze", "verify", str(copy)], capture_output=True, text=True, check=False)
    assert "penstock.service" not in checked.stderr, checked.stderr
