"""Observes the nodes of a Citus cluster, so that a failing node affects only its own accounts.

Each node is probed once a second, over a connection to the coordinator. If a probe fails or takes
two seconds, calls for accounts on the node fail immediately, and transactions that wait for the
node are disconnected, until a probe succeeds. Statement timeouts are not sufficient: to cancel a
statement on a frozen node, Citus opens a connection to that node, and waits for it without limit.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import psycopg

from ...rpc.errors import Unavailable
from ..executor.work_item import GroupLimit, GroupLimits
from ..postgres.connection import CONNECT_SECONDS, STATEMENT_SECONDS, parameters
from ..postgres.running import RunningTransactions, shut_down
from .placement import Node, Placement, current_placement

log = logging.getLogger(__name__)

# The interval of probes, the timeout of a probe, and the interval of catalog reads, in seconds.
PROBE_INTERVAL = 1.0
PROBE_SECONDS = 2.0
CATALOG_SECONDS = 5.0


class Nodes:
    """The nodes of a database; none if it is not distributed. Used on the event loop."""

    def __init__(self, url: str, running: RunningTransactions) -> None:
        self._url = url
        self._running = running
        self.placement: Placement | None = None
        self.not_responding: set[Node] = set()
        self._probes: dict[Node, asyncio.Task[None]] = {}

    def states(self) -> Mapping[int, bool]:
        """Returns whether the nodes respond, by ID."""
        nodes = self.placement.nodes if self.placement else []
        return {node.id: node not in self.not_responding for node in nodes}

    def limits_of_write(self, account_id: str, threads: int) -> GroupLimits:
        """Returns the groups of a write except its account: node and shard. Raises Unavailable."""
        if self.placement is None:
            return ()
        # Writes to a shard wait while the shard is moved.
        shard = GroupLimit(self.placement.shard_of(account_id), max(threads // 2, 1))
        return (*self.limits_of_read(account_id, threads), shard)

    def limits_of_read(self, account_id: str, threads: int) -> GroupLimits:
        """Returns the groups of a read except its account: the node. Raises Unavailable."""
        if self.placement is None:
            return ()
        return self.limits_of(self.placement.node_of(account_id), threads)

    def limits_of(self, node: Node, threads: int) -> GroupLimits:
        """Returns the groups of work on a node. Raises Unavailable if it does not respond."""
        if node in self.not_responding:
            raise Unavailable
        return (GroupLimit(node, max(threads * 3 // 4, 1)),)

    def failed(self, limits: GroupLimits) -> bool:
        """Whether a node that does not respond is among the groups."""
        return any(limit.group in self.not_responding for limit in limits)

    async def run(self) -> None:
        """Probes the nodes of a distributed database until canceled."""
        try:
            while self.placement is not None:
                for node in self._probes.keys() - set(self.placement.nodes):
                    self._probes.pop(node).cancel()
                    self.not_responding.discard(node)
                for node in set(self.placement.nodes) - self._probes.keys():
                    self._probes[node] = asyncio.create_task(self._probe(node))
                await asyncio.sleep(CATALOG_SECONDS)
                await self._refresh()
        finally:
            for task in self._probes.values():
                task.cancel()
            await asyncio.gather(*self._probes.values(), return_exceptions=True)

    async def _refresh(self) -> None:
        try:
            async with await self._connected() as connection:
                self.placement = await current_placement(connection) or self.placement
        except (psycopg.Error, OSError) as error:
            log.warning("cannot read the shards of the database: %s", error)

    async def _connected(self) -> psycopg.AsyncConnection[Any]:
        return await psycopg.AsyncConnection.connect(**parameters(self._url), autocommit=True)

    async def _probe(self, node: Node) -> None:
        """Probes a node until canceled."""
        while True:
            # If the coordinator does not respond, the state of the other nodes is unknown.
            with suppress(psycopg.Error, OSError):
                connection = await self._connected()
                try:
                    await self._probe_over(connection, node)
                finally:
                    await connection.close()
            await asyncio.sleep(PROBE_INTERVAL)

    async def _probe_over(self, connection: psycopg.AsyncConnection[Any], node: Node) -> None:
        """Probes a node over a connection until it fails."""
        # For the first probe, the coordinator connects to the node.
        seconds = PROBE_SECONDS + CONNECT_SECONDS
        while (placement := self.placement) is not None:
            overdue = asyncio.Event()
            timer = asyncio.get_running_loop().call_later(seconds, _time_out, connection, overdue)
            try:
                await connection.execute(*placement.probe(node))
            except psycopg.Error as error:
                if overdue.is_set() or not connection.closed:
                    text = f"no response in {seconds:g} s" if overdue.is_set() else error
                    self._mark_failed(node, text)
                return
            finally:
                timer.cancel()
            if node in self.not_responding:
                self.not_responding.discard(node)
                log.warning("database node %s responds again", node)
            seconds = PROBE_SECONDS
            await asyncio.sleep(PROBE_INTERVAL)

    def _mark_failed(self, node: Node, reason: object) -> None:
        """Marks a node as not responding, and disconnects its transactions except commits."""
        if node not in self.not_responding:
            log.error("database node %s does not respond: %s", node, " ".join(str(reason).split()))
        self.not_responding.add(node)
        # Older transactions also wait for the node: a write to a reference table uses all nodes.
        self._running.disconnect(node, older_than=STATEMENT_SECONDS)


def _time_out(connection: psycopg.AsyncConnection[Any], overdue: asyncio.Event) -> None:
    overdue.set()
    shut_down(connection)
