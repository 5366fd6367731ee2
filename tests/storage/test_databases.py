"""Tests of transactions of the command line, on both databases."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.storage.database import StorageError
from server.storage.databases import bring_up_to_date, reading
from server.tags import store as tags

from ..postgres import Postgres
from .helpers import OURS


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_reading_transaction_cannot_write(kind: str, tmp_path: Path, postgres: Postgres) -> None:
    url = f"sqlite:///{tmp_path}/roster.db" if kind == "sqlite" else postgres.new_database()
    bring_up_to_date(url)

    with pytest.raises(StorageError, match=r"readonly|read-only"), reading(url) as tx:
        tags.create(OURS, "vip", "", tx)
