"""Spark's own folder made for a quick start: links to the real one, kept in the cache folder.

Two things differ. Spark asks every jar for extensions when a session starts, and MLlib's answer costs more than a second, since
its functions are described by reflection: it is left out. Classes of signed jars, such as those of the compiler that Spark uses
for every query, are checked one by one and cannot be in a class-data archive: those jars are copied without their signatures.
An app that uses MLlib, a cluster and a Spark that the user chose or set up by the environment have Spark as it is.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import zipfile
from contextlib import suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from penstock.errors import ToolError
from penstock.spark.session.jars import cache_folder, fill_once

LEFT_OUT = ("spark-mllib_", "spark-graphx_")
RECIPE = "links without MLlib, unsigned, started directly"  # changes with what is made here, so that homes and archives of another kind are not used
_SIGNATURE = re.compile(r"META-INF/[^/]*\.(?:SF|RSA|DSA|EC)")
_USED_BY = ("pyspark.ml", "pyspark.mllib")
_CHOSEN_BY_USER = ("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_SUBMIT_OPTS", "PYSPARK_SUBMIT_ARGS")


def chosen_home(master: str) -> Path | None:
    """The lean home where it will do; None for Spark as it is."""
    if not master.startswith("local") or any(name in os.environ for name in _CHOSEN_BY_USER) or any(name in sys.modules for name in _USED_BY):
        return None
    return lean_home(real_home(), cache_folder())


def lean_home(real: Path, cache: Path) -> Path | None:
    """The folder of links to `real`, made once; None where the cache cannot hold one."""
    key = hashlib.sha256(f"{version('pyspark')} {real} {RECIPE}".encode()).hexdigest()[:12]
    home = cache / "spark" / key
    with suppress(ToolError, OSError):
        fill_once(home, lambda into: _link(real, into))
    return home if home.is_dir() else None


def _link(real: Path, home: Path) -> None:
    (home / "jars").mkdir()
    for path in real.iterdir():
        if path.name != "jars":
            (home / path.name).symlink_to(path)
    for jar in (real / "jars").glob("*.jar"):
        if jar.name.startswith(LEFT_OUT):
            continue
        with zipfile.ZipFile(jar) as pack:
            entries = [entry for entry in pack.infolist() if not _SIGNATURE.fullmatch(entry.filename)]
            if len(entries) == len(pack.infolist()):
                (home / "jars" / jar.name).symlink_to(jar)
                continue
            with zipfile.ZipFile(home / "jars" / jar.name, "w", zipfile.ZIP_DEFLATED) as copy:
                for entry in entries:
                    copy.writestr(entry, pack.read(entry))


def real_home() -> Path:
    """Where pip has put Spark."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise ToolError("pyspark is not installed", hint=f"{sys.executable} -m pip install pyspark")
    return Path(spec.origin).parent
