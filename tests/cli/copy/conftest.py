"""Databases for copy tests, and small batches."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rosterd.server.storage.copy import endpoint
from rosterd.server.storage.databases import unit_of_work

from ...citus.cluster import Cluster
from ...postgres import Postgres
from .helpers import BATCH, Databases, create_everything


@pytest.fixture
def databases(tmp_path: Path, new_rosters: Postgres | Cluster) -> Databases:
    return Databases(tmp_path, new_rosters)


@pytest.fixture
def source(databases: Databases, empty_file: Path) -> str:
    """A file with rows in every table."""
    url = databases.new("sqlite")
    shutil.copy(empty_file, url.removeprefix("sqlite:///"))
    with unit_of_work(url) as tx:
        create_everything(tx)
    return url


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "BATCH", BATCH)
