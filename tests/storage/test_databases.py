"""Tests of transactions of the command line, on both databases."""

from __future__ import annotations

from pathlib import Path

import pytest

from rosterd.server.features.tags import store as tags
from rosterd.server.storage.database import StorageError
from rosterd.server.storage.databases import bring_up_to_date, reading

from .helpers import OURS


def test_reading_transaction_cannot_write(url: str) -> None:
    with pytest.raises(StorageError, match=r"readonly|read-only"), reading(url) as tx:
        tags.create(OURS, "vip", "", tx)


def test_folder_of_a_new_database_can_be_read_by_its_owner_only(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir(mode=0o755)
    for folder in ("data", "shared"):
        bring_up_to_date(f"sqlite:///{tmp_path}/{folder}/roster.db")

    modes = [(tmp_path / folder).stat().st_mode & 0o777 for folder in ("data", "shared")]
    assert modes == [0o700, 0o755]
