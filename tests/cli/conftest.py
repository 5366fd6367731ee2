"""Fixtures of the tests of commands."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rosterd.server.features.accounts import store
from rosterd.server.storage.databases import unit_of_work


@pytest.fixture
def url(tmp_path: Path) -> str:
    """The URL of a database that does not exist."""
    return f"sqlite:///{tmp_path}/roster.db"


@pytest.fixture
def account_id(url: str, empty_file: Path) -> str:
    """The ID of an unverified account."""
    shutil.copy(empty_file, url.removeprefix("sqlite:///"))
    with unit_of_work(url) as tx:
        return store.create_account("ada@bücher.de", tx, verified=False).id
