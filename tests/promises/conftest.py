"""What the tests of promises share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.testing.trial import Trial


@pytest.fixture
def trial(tmp_path: Path, spark: SparkSession) -> Trial:
    """An app of the test's own, over the one Spark session."""
    from penstock.testing.trial import Trial

    (tmp_path / "app").mkdir()
    return Trial(tmp_path / "app", spark, {"restart_backoff_s": "0.1"})
