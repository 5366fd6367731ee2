"""Copies of a distributed database: their snapshot, and into another cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from rosterd.server.storage.copy.endpoint import PostgresEndpoint
from rosterd.server.storage.copy.table import described
from rosterd.server.storage.postgres.connection import open_database

from ..cli.commands import json_output
from .cluster import Cluster
from .distributed import create_accounts, row_counts, rows, undistributed

pytestmark = pytest.mark.verify


@pytest.fixture
def url(citus: Cluster) -> str:
    """A distributed database with data."""
    url = citus.new_roster()
    create_accounts(url)
    return url


def test_copy_reads_all_tables_of_an_account_in_one_snapshot(url: str) -> None:
    with open_database(url) as database:
        endpoint = PostgresEndpoint(database)
        tag, subscriber = (described(database, table) for table in ("tag", "subscriber"))
        with endpoint.view():
            before = endpoint.batch(tag, None)
            rows(url, "UPDATE subscriber SET first_name = 'changed'")
            rows(url, "UPDATE tag SET description = 'changed'")

            assert "changed" not in str(endpoint.batch(subscriber, None))
            assert endpoint.batch(tag, None) == before


def test_cluster_is_copied_to_a_file_and_into_another_cluster(
    citus: Cluster, url: str, tmp_path: Path
) -> None:
    file, other = f"sqlite:///{tmp_path}/roster.db", citus.new_roster()

    for source, target in ((url, file), (file, other)):
        report = json_output(url, "copy", "--from", source, "--to", target)
        assert all(table["verified"] for table in report["tables"])

    assert row_counts(other) == row_counts(url)
    assert undistributed(other) == set()
