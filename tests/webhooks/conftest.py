"""Databases for the tests of delivery."""

from __future__ import annotations

import pytest

from ..postgres import Postgres
from .worker import Location


@pytest.fixture(params=["sqlite", "postgres"])
def location(request: pytest.FixtureRequest) -> Location:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return Location(request.getfixturevalue("new_file"))
    postgres: Postgres = request.getfixturevalue("postgres")
    return Location(postgres.new_roster())
