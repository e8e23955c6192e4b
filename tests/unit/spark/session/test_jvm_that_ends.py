"""A JVM that does not come up."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import EngineError
from penstock.spark.session.jvm import Command, started


def test_what_a_jvm_printed_before_it_ended_is_reported(tmp_path: Path) -> None:
    log = tmp_path / "spark.log"
    log.write_text("of another run\n", encoding="utf-8")
    jvm = started(Command(tmp_path, ("sh", "-c", "echo; echo Could not reserve enough space; exit 3")), log)
    with pytest.raises(EngineError, match=r"^the JVM ended with code 3 before it was up: Could not reserve enough space$"):
        jvm.gateway()
