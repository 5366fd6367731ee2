"""The documented backup of a cluster, its restoration, and the return to a single server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ..cli.commands import json_output
from ..documents import OPERATION, code_blocks
from .cluster import Cluster, installation
from .distributed import create_accounts, row_counts, rows, undistributed
from .node import LIBRARIES

COMMANDS = {block.mark: block.text for block in code_blocks(OPERATION) if block.mark}
COUNT_FOREIGN_KEYS = "SELECT count(*) FROM pg_constraint WHERE contype = 'f'"

pytestmark = pytest.mark.verify


@pytest.fixture
def url(citus: Cluster) -> str:
    """A distributed database with data."""
    url = citus.new_roster()
    create_accounts(url)
    return url


def run(commands: str, folder: Path, **environment: str) -> None:
    """Runs documented commands in a folder."""
    programs = installation()
    assert programs is not None
    path = [str(programs / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
    libraries = f"{programs / 'lib'}:{LIBRARIES}"
    done = subprocess.run(
        ["bash", "-e", "-c", commands],
        cwd=folder,
        env={"PATH": ":".join(path), "LD_LIBRARY_PATH": libraries, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


def test_dump_is_restored_to_another_cluster(citus: Cluster, url: str, tmp_path: Path) -> None:
    restored = citus.new_database()

    run(COMMANDS["backup: citus"], tmp_path, ROSTER_DATABASE_URL=url)
    run(COMMANDS["restore: citus"], tmp_path, RESTORED_URL=restored)

    assert undistributed(restored) == set()
    assert row_counts(restored) == row_counts(url)


def test_all_tables_are_moved_back_to_the_coordinator(url: str) -> None:
    before = row_counts(url), rows(url, COUNT_FOREIGN_KEYS)

    rows(url, COMMANDS["undistribute"])

    assert rows(url, "SELECT count(*) FROM pg_dist_partition") == [(0,)]
    assert (row_counts(url), rows(url, COUNT_FOREIGN_KEYS)) == before
    json_output(url, "accounts", "create", "--email", "other@example.com")
    json_output(url, "migrate", "--distribute")
    assert undistributed(url) == set()
