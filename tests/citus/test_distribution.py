"""`roster migrate --distribute` on a cluster: its layout, interruptions and refusals."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rosterd.server.serving.console import ExitCode
from rosterd.server.storage.databases import distributed
from rosterd.server.storage.postgres.connection import PLANNER_SETTINGS

from ..cli.commands import error_line, json_output, roster
from ..components import wait_until
from ..processes import environment, limited, start
from .cluster import ROLE, Cluster
from .distributed import (
    ACCOUNTS,
    LISTED,
    create_accounts,
    new_schema,
    row_counts,
    rows,
    undistributed,
)

LOCAL_ROWS = (
    "SELECT count(*) FROM pg_class JOIN pg_dist_partition ON logicalrelid = pg_class.oid"
    " WHERE pg_relation_size(pg_class.oid) > 0"
)

pytestmark = pytest.mark.verify


@pytest.fixture
def url(citus: Cluster) -> str:
    return new_schema(citus)


def refusal(url: str, *flags: str) -> str:
    """Returns the line that a failing distribution prints."""
    done = roster("migrate", "--distribute", "--json", *flags, ROSTER_DATABASE_URL=url)
    return error_line(done, ExitCode.DATABASE)


def test_tables_are_distributed_by_account_except_three_reference_tables(url: str) -> None:
    create_accounts(url)

    report = json_output(url, "migrate", "--distribute")["tables"]

    assert undistributed(url) == set()
    assert {table["table"]: table["kind"] for table in report} == {
        table: kind for table, kind, _ in rows(url, LISTED)
    }
    assert not any(table["before"] for table in report)
    assert row_counts(url) == [(1, ACCOUNTS, ACCOUNTS, ACCOUNTS)]
    assert rows(url, LOCAL_ROWS) == [(0,)]


def test_all_nodes_plan_statements_with_the_settings_of_the_service(url: str) -> None:
    list(distributed(url))

    for name, value in PLANNER_SETTINGS.items():
        shown = rows(url, f"SELECT success, result FROM run_command_on_all_nodes('SHOW {name}')")
        assert shown == [(True, value)] * 3


@pytest.mark.parametrize("tables", [1, 6, 17])
def test_killed_distribution_is_completed_by_the_next_run(url: str, tables: int) -> None:
    create_accounts(url)
    with (
        subprocess.Popen(
            [sys.executable, "-m", "rosterd.server", "migrate", "--distribute"],
            env=environment(ROSTER_DATABASE_URL=url, PYTHONUNBUFFERED="1"),
            stdout=subprocess.PIPE,
            text=True,
        ) as process,
        limited(process),
    ):
        assert process.stdout is not None
        while tables:
            tables -= " is now " in process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)

    # PostgreSQL finishes the statement that was running.
    wait_until(
        lambda: roster("migrate", "--distribute", ROSTER_DATABASE_URL=url).returncode == 0,
        "the distribution is not completed",
    )

    assert undistributed(url) == set()
    assert row_counts(url) == [(1, ACCOUNTS, ACCOUNTS, ACCOUNTS)]
    assert rows(url, LOCAL_ROWS) == [(0,)]


@pytest.mark.parametrize(
    ("table", "wrong"),
    [
        ("tag", "create_reference_table('tag')"),
        ("idempotent_response", "create_distributed_table('idempotent_response', 'key')"),
    ],
)
def test_table_with_another_distribution_is_named_with_its_remedy(
    url: str, table: str, wrong: str
) -> None:
    rows(url, f"SELECT {wrong}")

    line = refusal(url)

    assert f"The table {table} is already" in line
    run_remedy(url, line)
    json_output(url, "migrate", "--distribute")
    assert undistributed(url) == set()


def run_remedy(url: str, line: str) -> None:
    """Runs the statement that an error message recommends."""
    match = re.search(r"Run (SELECT undistribute_table\(.*\)) ", line)
    assert match is not None, line
    rows(url, match[1].replace("'...'", "'event'"))


def test_tables_that_are_not_colocated_are_rejected_with_a_remedy(url: str) -> None:
    for table in ("suppression", "event"):
        rows(
            url,
            f"SELECT create_distributed_table('{table}', 'account_id', colocate_with => 'none')",
        )

    line = refusal(url)

    assert "not co-located" in line
    run_remedy(url, line)
    json_output(url, "migrate", "--distribute")
    assert undistributed(url) == set()


def test_cluster_without_workers_is_rejected_unless_it_is_allowed(citus: Cluster) -> None:
    citus.run(f"CREATE DATABASE single OWNER {ROLE}")
    citus.run("CREATE EXTENSION citus", "single")
    url = citus.coordinator.url("single", ROLE)

    assert "no worker nodes" in refusal(url)
    assert rows(url, LISTED) == []

    json_output(url, "migrate", "--distribute", "--allow-single-node")
    assert undistributed(url) == set()
    # Later runs do not need the flag.
    json_output(url, "migrate", "--distribute")


def test_database_that_is_served_is_rejected(citus: Cluster, url: str, tmp_path: Path) -> None:
    service = start(tmp_path, ROSTER_DATABASE_URL=url, ROSTER_SECRET_KEY=citus.secret_key)
    try:
        assert "Stop all services" in refusal(url)
        assert rows(url, LISTED) == []
    finally:
        service.stop()

    json_output(url, "migrate", "--distribute")
    assert undistributed(url) == set()


def test_database_that_is_being_distributed_cannot_be_opened(url: str) -> None:
    distributing: Any = distributed(url)
    next(distributing)

    for command in (["serve"], ["accounts", "create", "--email", "owner@example.com", "--json"]):
        done = roster(*command, ROSTER_DATABASE_URL=url)
        assert "being distributed" in error_line(done, ExitCode.DATABASE)

    distributing.close()
    json_output(url, "accounts", "create", "--email", "owner@example.com")
