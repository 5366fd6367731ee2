"""Calls while a node of the cluster is stopped or frozen, or moves shards."""

from __future__ import annotations

import asyncio
import json
import re
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any

import psycopg
import pytest

from rosterd.server.app import newest_id
from rosterd.server.features.tags import store as tags
from rosterd.server.features.webhooks.delivery.store_queue import ids_of_any_account_with_work
from rosterd.server.maintenance.purge import purge_old_rows
from rosterd.server.rpc import caller
from rosterd.server.rpc.errors import Unavailable
from rosterd.server.rpc.idempotency import store as responses
from rosterd.server.storage.citus.database import CitusDatabase
from rosterd.server.storage.database import Work

from ..components import wait_until
from ..processes import Service, start
from .cluster import Cluster
from .distributed import rows
from .node import Node

NODE_OF = (
    "SELECT nodeport FROM pg_dist_placement JOIN pg_dist_node USING (groupid) WHERE shardid ="
    " get_shard_id_for_distribution_column('subscriber', '{account}'::text)"
)
INTERNAL_ERROR = "DO $$ BEGIN RAISE EXCEPTION 'node' USING ERRCODE = 'XX000'; END $$"

pytestmark = pytest.mark.verify


@pytest.fixture(scope="module")
def url(citus: Cluster) -> str:
    return citus.new_roster()


def accounts_on(node: Node, url: str, number: int) -> list[str]:
    """Returns accounts on a node."""
    found: list[str] = []
    for each in count():
        account = f"account-{each}"
        if rows(url, NODE_OF.replace("{account}", account)) == [(node.port,)]:
            found.append(account)
        if len(found) == number:
            break
    return found


@contextmanager
def stopped(node: Node) -> Iterator[None]:
    node.stop()
    try:
        yield
    finally:
        node.start()


@contextmanager
def frozen(node: Node) -> Iterator[None]:
    node.freeze()
    try:
        yield
    finally:
        node.thaw()


def run(url: str, scenario: Callable[[CitusDatabase], Awaitable[None]]) -> None:
    async def main() -> None:
        database = CitusDatabase(url, 8)
        await database.open()
        try:
            await scenario(database)
        finally:
            await database.close()

    asyncio.run(main())


async def write(database: CitusDatabase, account: str, name: str) -> None:
    """Creates a tag."""
    caller.enter_account(account)
    await database.write(lambda tx: tags.create(account, name, "", tx))


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - the states of nodes have no event
            await asyncio.sleep(0.05)


def test_nodes_of_accounts_are_computed_as_by_citus(url: str) -> None:
    async def scenario(database: CitusDatabase) -> None:
        placement = database._nodes.placement  # noqa: SLF001 - has no other effect to observe
        assert placement is not None
        for number in range(40):
            account = f"account-{number}"
            expected = rows(url, NODE_OF.replace("{account}", account))
            assert [(placement.node_of(account).port,)] == expected

    run(url, scenario)


def test_search_for_accounts_with_work_omits_only_the_stopped_node(
    citus: Cluster, url: str
) -> None:
    here, there = (accounts_on(node, url, 2) for node in citus.workers)
    for account in (*here, *there):
        rows(url, f"INSERT INTO delivery_queue VALUES ('{account}', 0, 1, 0)")
        rows(url, f"INSERT INTO event_stream VALUES ('{account}', 0, 1)")
    search = partial(ids_of_any_account_with_work, 100)

    async def scenario(database: CitusDatabase) -> None:
        found = await database.read_nodes(search)
        assert sorted(chain(*found.results)) == sorted([*here, *there])
        with stopped(citus.workers[0]):
            found = await database.read_nodes(search)
            assert [sorted(accounts) for accounts in found.results] == [there]
            assert found.not_responding == 1
            newest = await database.read_nodes(newest_id)
            assert (len(newest.results), newest.not_responding) == (1, 1)

    run(url, scenario)


def test_purge_omits_only_the_accounts_of_a_stopped_node(citus: Cluster) -> None:
    url = citus.new_roster()
    here, there = (accounts_on(node, url, 2) for node in citus.workers)
    for account in (*here, *there):
        rows(url, f"INSERT INTO account VALUES ('{account}', '{account}@example.com', true, 0)")
        rows(url, f"INSERT INTO idempotent_response VALUES ('{account}', 'key', '', '', 0)")

    async def scenario(database: CitusDatabase) -> None:
        with stopped(citus.workers[0]):
            assert await purge_old_rows(database, responses.has_old, responses.purge) == 2
        await until(lambda: all(database.nodes().values()))
        assert await purge_old_rows(database, responses.has_old, responses.purge) == 2

    run(url, scenario)


def readiness(service: Service) -> dict[str, Any]:
    """Returns the body of /readyz."""
    with urllib.request.urlopen(f"http://{service.http}/readyz") as response:
        body: dict[str, Any] = json.load(response)
        return body


def test_service_starts_without_a_node_and_names_it(
    citus: Cluster, url: str, tmp_path: Path
) -> None:
    worker = citus.workers[0]
    settings = {"ROSTER_DATABASE_URL": url, "ROSTER_SECRET_KEY": citus.secret_key}
    # The first start creates an account.
    start(tmp_path, **settings).stop()
    with stopped(worker):
        service = start(tmp_path, **settings)
        try:
            wait_until(lambda: "details" in readiness(service), "the node is not named")
            (node,) = readiness(service)["details"]
            assert re.fullmatch(r"database node \d does not respond", node)
            worker.start()
            wait_until(lambda: readiness(service) == {"status": "ok"}, "the node is still named")
            worker.stop()
        finally:
            service.stop()


def test_accounts_of_other_shards_are_served_while_writes_to_a_shard_wait(
    citus: Cluster, url: str
) -> None:
    (account,) = accounts_on(citus.workers[0], url, 1)

    async def scenario(database: CitusDatabase) -> None:
        placement = database._nodes.placement  # noqa: SLF001 - computes the shards
        assert placement is not None
        names = [f"moved-{number}" for number in range(600)]
        shard = placement.shard_of(account)
        moved = [each for each in names if placement.shard_of(each) == shard][:8]
        node = placement.node_of(account)
        other = next(
            each
            for each in names
            if placement.node_of(each) == node and placement.shard_of(each) != shard
        )
        with psycopg.connect(citus.coordinator.url(url.rsplit("/", 1)[1])) as connection:
            # A move with block_writes holds this lock.
            connection.execute(
                "SELECT lock_shard_metadata(7, ARRAY["
                f"get_shard_id_for_distribution_column('tag', '{account}'::text)])"
            )
            writes = [asyncio.create_task(write(database, each, "moved")) for each in moved]
            await asyncio.sleep(0)
            await write(database, other, "served")
            assert not any(each.done() for each in writes)
        await asyncio.gather(*writes)

    run(url, scenario)


def failing(attempts: list[int], *, times: int) -> Work[int]:
    """Returns work that fails with an internal error of the server at first."""

    def work(tx: object) -> int:
        attempts.append(1)
        tx.ping()  # type: ignore[attr-defined]
        if len(attempts) <= times:
            tx._database.execute_sql(INTERNAL_ERROR)  # type: ignore[attr-defined] # noqa: SLF001
        return len(attempts)

    return work


def test_internal_error_of_citus_is_retried_once_and_then_unavailable(url: str) -> None:
    async def scenario(database: CitusDatabase) -> None:
        assert await database.write(failing([], times=1)) == 2
        assert await database.read(failing([], times=1)) == 2
        for run_work in (database.write, database.read):
            attempts: list[int] = []
            with pytest.raises(Unavailable):
                await run_work(failing(attempts, times=9))
            assert len(attempts) == 2

    run(url, scenario)
