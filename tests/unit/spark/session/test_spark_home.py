from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from penstock.spark.session import spark_home
from penstock.spark.session.spark_home import chosen_home, lean_home

JARS = ("spark-core_2.13-4.3.0.jar", "spark-mllib_2.13-4.3.0.jar", "spark-mllib-local_2.13-4.3.0.jar", "spark-graphx_2.13-4.3.0.jar")


@pytest.fixture
def real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Spark of a few empty files, and a cache that holds nothing."""
    folder = tmp_path / "pyspark"
    (folder / "jars").mkdir(parents=True)
    (folder / "bin").mkdir()
    for jar in JARS:
        with zipfile.ZipFile(folder / "jars" / jar, "w") as pack:
            pack.writestr("a/Class.class", b"code")
    for name in ("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_SUBMIT_OPTS", "PYSPARK_SUBMIT_ARGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(spark_home, "real_home", lambda: folder)
    for name in ("pyspark.ml", "pyspark.mllib"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return folder


def test_the_lean_home_has_everything_but_mllib(real: Path, tmp_path: Path) -> None:
    lean = lean_home(real, tmp_path / "cache")
    assert lean is not None
    assert sorted(path.name for path in (lean / "jars").iterdir()) == sorted([JARS[0], JARS[2]])
    assert (lean / "bin").resolve() == real / "bin"
    assert lean_home(real, tmp_path / "cache") == lean
    assert [path.name for path in lean.parent.iterdir() if path.is_dir()] == [lean.name]


def test_a_signed_jar_is_copied_without_its_signature(real: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(real / "jars" / "janino.jar", "w") as pack:
        for name in ("META-INF/MANIFEST.MF", "META-INF/SIGNER.SF", "META-INF/SIGNER.RSA", "org/A.class"):
            pack.writestr(name, name.encode())
    lean = lean_home(real, tmp_path / "cache")
    assert lean is not None
    with zipfile.ZipFile(lean / "jars" / "janino.jar") as pack:
        assert pack.namelist() == ["META-INF/MANIFEST.MF", "org/A.class"]
        assert pack.read("org/A.class") == b"org/A.class"
    assert (lean / "jars" / JARS[0]).is_symlink()


def test_it_is_chosen_for_one_machine(real: Path) -> None:
    lean = chosen_home("local[2]")
    assert lean is not None
    assert (lean / "bin").resolve() == real / "bin"
    assert chosen_home("spark://here:7077") is None


@pytest.mark.usefixtures("real")
def test_an_app_that_uses_mllib_has_all_of_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.ml", ModuleType("pyspark.ml"))
    assert chosen_home("local[2]") is None


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize("name", ["SPARK_HOME", "SPARK_CONF_DIR", "SPARK_SUBMIT_OPTS", "PYSPARK_SUBMIT_ARGS"])
def test_what_the_user_chose_is_left_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "/opt/spark")
    assert chosen_home("local[2]") is None


def test_a_cache_that_cannot_be_written_is_no_hindrance(real: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert lean_home(real, tmp_path / "file") is None
