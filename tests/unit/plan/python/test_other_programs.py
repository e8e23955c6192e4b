"""A Python file that is no app is recognised by its text: nothing of it runs, and no Spark starts."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from penstock.errors import AppFault
from penstock.plan.load import load

PASTED = """
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, window

spark = SparkSession.builder.appName("clicks").master("local[2]").getOrCreate()
clicks = spark.readStream.format("kafka").option("subscribe", "clicks").load()
clicks.groupBy(window(col("timestamp"), "1 minute")).count().writeStream.format("console").start().awaitTermination()
"""
MAIN = """
import pyspark.sql as ps

def main():
    spark = ps.SparkSession.builder.getOrCreate()
    spark.readStream.format("rate").load().writeStream.format("console").start().awaitTermination()

if __name__ == "__main__":
    main()
"""
CONTEXT = """
from pyspark import SparkContext
sc = SparkContext("local", "words")
"""


@pytest.mark.parametrize(("text", "line"), [(PASTED, 5), (MAIN, 5), (CONTEXT, 3)], ids=["pasted", "main", "context"])
def test_a_pasted_pyspark_program_is_reported_and_not_run(tmp_path: Path, text: str, line: int) -> None:
    (tmp_path / "job.py").write_text(text, encoding="utf-8")
    with pytest.raises(AppFault, match=r"job.py is a PySpark program, not a Penstock app") as caught:
        load(tmp_path / "job.py")
    assert caught.value.where is not None
    assert caught.value.where.line == line
    assert "^" in str(caught.value.excerpt)
    assert "app.stream(...)" in str(caught.value.hint)
    assert "nothing of it was run" in str(caught.value.hint)


def test_the_answer_comes_at_once_and_without_pyspark(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(PASTED, encoding="utf-8")
    code = "import sys; from penstock import cli\ntry: cli.main(['check', 'job.py'])\nfinally: print('pyspark' in sys.modules)"
    begin = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stdout.rstrip().endswith("False")
    assert time.monotonic() - begin < 20  # a JVM that reads a stream would never end


@pytest.mark.parametrize(
    "start", ["spark = SparkSession.builder.getOrCreate()", "def begin():\n    return SparkSession.builder.getOrCreate()\n\nspark = begin()"]
)
def test_an_app_that_starts_a_session_of_its_own_is_refused(tmp_path: Path, start: str) -> None:
    (tmp_path / "app.py").write_text(f"import penstock\nfrom pyspark.sql import SparkSession\n{start}\napp = penstock.App('x')\n", encoding="utf-8")
    with pytest.raises(AppFault, match=r"app.py starts a Spark session of its own") as caught:
        load(tmp_path / "app.py")
    assert "leave the session out" in str(caught.value.hint)


def test_a_session_in_a_function_that_is_not_called_is_the_users_own(tmp_path: Path) -> None:
    text = """
import penstock

app = penstock.App("x")
app.table("t", penstock.Files("t.csv", format="csv"), "a INT")

def later():
    from pyspark.sql import SparkSession
    return SparkSession.builder.getOrCreate()

if __name__ == "__main__":
    later()
"""
    (tmp_path / "app.py").write_text(text, encoding="utf-8")
    assert list(load(tmp_path / "app.py").tables) == ["t"]


def test_a_file_without_penstock_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("open('ran', 'w').write('yes')\n", encoding="utf-8")
    with pytest.raises(AppFault, match=r"other.py holds no app"):
        load(tmp_path / "other.py")
    assert not (tmp_path / "ran").exists()


def test_a_file_may_take_its_app_from_a_module_beside_it(tmp_path: Path) -> None:
    (tmp_path / "shop_of_this_test.py").write_text(
        "import penstock\napp = penstock.App('x')\napp.table('t', penstock.Files('t.csv', format='csv'), 'a INT')\n", encoding="utf-8"
    )
    (tmp_path / "app.py").write_text("from shop_of_this_test import app\n", encoding="utf-8")
    assert list(load(tmp_path / "app.py").tables) == ["t"]
