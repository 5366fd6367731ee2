"""Databases to copy, and batches so small that a few hundred rows make many."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.storage.copy import endpoint
from server.storage.databases import unit_of_work

from ...postgres import Postgres
from .helpers import BATCH, Places, fill


@pytest.fixture
def places(tmp_path: Path, postgres: Postgres) -> Places:
    return Places(tmp_path, postgres)


@pytest.fixture
def source(places: Places) -> str:
    """A file that holds something of everything."""
    url = places.new("sqlite")
    with unit_of_work(url) as tx:
        fill(tx)
    return url


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "BATCH", BATCH)
