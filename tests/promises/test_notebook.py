"""The notebook of the examples runs from its first cell to its last, in a real kernel."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "notebook"
EXECUTE = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read("shop.ipynb", as_version=4)
NotebookClient(notebook, timeout=240, kernel_name="python3").execute()
nbformat.write(notebook, "executed.ipynb")
"""


@pytest.mark.timeout(600)
def test_the_notebook_goes_from_a_csv_to_a_live_chart(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "notebook")
    environment = {**os.environ, "PENSTOCK_MASTER": "local[2]", "PENSTOCK_DRIVER_MEMORY": "1g", "PENSTOCK_FAST_START": "true"}
    done = subprocess.run([sys.executable, "-c", EXECUTE], cwd=tmp_path / "notebook", env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    executed: dict[str, Any] = json.loads((tmp_path / "notebook" / "executed.ipynb").read_text(encoding="utf-8"))
    shown = [output for cell in executed["cells"] for output in cell.get("outputs", [])]
    drawn = ["".join(output["data"]["text/html"]) for output in shown if "text/html" in output.get("data", {})]
    charts = [text for text in drawn if text.startswith("<svg")]
    assert len(charts) == 2
    assert charts[0].count("<rect") == 2
    assert charts[1].count("<rect") == 3
    assert any("incremental" in text for text in drawn)
