"""A database for each test of the stores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from server.cli.beside import unit_of_work
from server.storage.transaction import Transaction


@pytest.fixture
def tx(tmp_path: Path) -> Iterator[Transaction]:
    """A transaction on a fresh file."""
    with unit_of_work(f"sqlite:///{tmp_path}/roster.db") as transaction:
        yield transaction
