"""A database for each test of what is sent, of either kind."""

from __future__ import annotations

import pytest

from ..postgres import Postgres
from .delivering import Place


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest) -> Place:
    """A new database of each kind in turn."""
    if request.param == "sqlite":
        return Place(request.getfixturevalue("new_file"))
    postgres: Postgres = request.getfixturevalue("postgres")
    return Place(postgres.new_roster())
