"""Unit tests have no JVM: with nothing in the cache none is started ahead either."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def empty_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What Penstock takes for its cache folder."""
    cache = tmp_path_factory.getbasetemp() / "cache"
    monkeypatch.setenv("PENSTOCK_CACHE", str(cache))
    return cache
