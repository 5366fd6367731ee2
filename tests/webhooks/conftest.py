"""Databases for the tests of delivery."""

from __future__ import annotations

import pytest

from ..postgres import Postgres
from .worker import DatabaseLocation


@pytest.fixture(params=["sqlite", "postgres"])
def location(request: pytest.FixtureRequest) -> DatabaseLocation:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return DatabaseLocation(request.getfixturevalue("new_file"))
    postgres: Postgres = request.getfixturevalue("postgres")
    return DatabaseLocation(postgres.new_roster())
