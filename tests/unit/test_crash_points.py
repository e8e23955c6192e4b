"""The points at which a process can be made to die, and what the environment may say of them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.crash_points import POINTS, traps
from penstock.errors import OptionFault

SOURCE = Path(__file__).parent.parent.parent / "src" / "penstock"
REACHING = "from penstock.crash_points import crash_point\nfor n in range(5):\n    crash_point('sink.mid-rows')\n    print(n, flush=True)\n"


@pytest.mark.parametrize("point", [name for name, _ in POINTS])
def test_every_point_is_reached_by_the_code(point: str) -> None:
    assert [path for path in SOURCE.rglob("*.py") if path.name != "crash_points.py" and f'crash_point("{point}")' in path.read_text(encoding="utf-8")]


def test_the_code_reaches_no_point_that_is_not_listed() -> None:
    found = {name for path in SOURCE.rglob("*.py") for name in re.findall(r'crash_point\("([^"]+)"\)', path.read_text(encoding="utf-8"))}
    assert found == {name for name, _ in POINTS}


@pytest.mark.parametrize(("asked", "printed"), [("sink.mid-rows", ""), ("sink.mid-rows:3", "0\n1\n"), ("sink.mid-rows:9", "0\n1\n2\n3\n4\n")])
def test_a_process_dies_at_the_named_time(asked: str, printed: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", REACHING], env={**os.environ, "PENSTOCK_KILL_AT": asked}, capture_output=True, text=True, check=False
    )
    assert done.stdout == printed
    assert done.returncode == (0 if asked.endswith("9") else -signal.SIGKILL)


def test_a_process_can_be_frozen_and_woken() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", REACHING], env={**os.environ, "PENSTOCK_STOP_AT": "sink.mid-rows:2"}, stdout=subprocess.PIPE
    ) as frozen:
        assert os.WIFSTOPPED(os.waitpid(frozen.pid, os.WUNTRACED)[1])
        frozen.send_signal(signal.SIGCONT)
        assert frozen.communicate()[0] == b"0\n1\n2\n3\n4\n"


def test_a_thread_that_is_frozen_stands_at_the_point_and_not_behind_it() -> None:
    """The signal may come by another thread; jobs run in threads of their own."""
    threaded = f"import threading\ndef work():\n  {REACHING.replace(chr(10), chr(10) + '  ')}\nthreading.Thread(target=work).start()\n"
    with subprocess.Popen(
        [sys.executable, "-c", threaded], env={**os.environ, "PENSTOCK_STOP_AT": "sink.mid-rows:2"}, stdout=subprocess.PIPE
    ) as frozen:
        assert frozen.stdout is not None
        assert os.WIFSTOPPED(os.waitpid(frozen.pid, os.WUNTRACED)[1])
        assert os.read(frozen.stdout.fileno(), 100) == b"0\n"
        frozen.send_signal(signal.SIGCONT)
        assert frozen.communicate()[0] == b"1\n2\n3\n4\n"


@pytest.mark.parametrize("asked", ["sink.somewhere", "sink.mid-rows:0", "sink.mid-rows:often", ":2"])
def test_a_point_that_does_not_exist_is_an_error_that_lists_those_that_do(asked: str) -> None:
    with pytest.raises(OptionFault) as caught:
        traps({"PENSTOCK_KILL_AT": asked})
    assert "store.before-begin" in str(caught.value.hint)
