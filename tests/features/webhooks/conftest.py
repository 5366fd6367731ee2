"""Databases for the tests of delivery."""

from __future__ import annotations

import pytest

from ...citus.cluster import Cluster
from ...postgres import Postgres
from .worker import Location


@pytest.fixture(params=["sqlite", "postgres"])
def location(request: pytest.FixtureRequest) -> Location:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return Location(request.getfixturevalue("new_file"))
    server: Postgres | Cluster = request.getfixturevalue("new_rosters")
    return Location(server.new_roster())
