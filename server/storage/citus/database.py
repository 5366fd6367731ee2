"""Runs transactions on a PostgreSQL database that can be distributed over a Citus cluster.

While a node does not respond, the transactions of its accounts fail immediately.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from functools import partial
from typing import Any

import psycopg
from playhouse.postgres_ext import Psycopg3Database

from ...rpc import caller
from ...rpc.errors import Unavailable
from ...values.clock import Clock, system_clock
from ..database import AcceptKey, NodeResults, Result, Work
from ..executor.work_item import GroupLimits
from ..postgres.database import PostgresDatabase
from ..postgres.transaction import is_node_failure
from ..transaction import Transaction
from .distribution import bring_up_to_date
from .nodes import Nodes
from .placement import Node, NodeTransaction, read_placement


class CitusDatabase(PostgresDatabase):
    """A PostgreSQL database whose accounts are on the nodes of a cluster, if it is distributed."""

    def __init__(self, url: str, connections: int, *, clock: Clock = system_clock) -> None:
        super().__init__(url, connections, clock=clock)
        self._nodes = Nodes(url, self._running)

    def _migrate(self, database: Psycopg3Database, accept_key: AcceptKey | None) -> None:
        bring_up_to_date(database, accept_key=accept_key, report=self.report_migration)
        self._nodes.placement = read_placement(database)

    def _background(self) -> Sequence[Coroutine[Any, Any, None]]:
        return [*super()._background(), self._nodes.run()]

    def _read_limits(self) -> GroupLimits:
        account_id, limits = caller.account_id_or_none(), super()._read_limits()
        if account_id is None:
            return limits
        return (*self._nodes.limits_of_read(account_id, self._readers), *limits)

    def _write_limits(self) -> GroupLimits:
        account_id, limits = caller.account_id_or_none(), super()._write_limits()
        if account_id is None:
            return limits
        return (*self._nodes.limits_of_write(account_id, self._writers), *limits)

    async def read_nodes(self, work: Work[Result]) -> NodeResults[Result]:
        placement = self._nodes.placement
        if placement is None:
            return await super().read_nodes(work)

        def run(node: Node, _tx: Transaction) -> Result:
            return work(NodeTransaction(self._connections, self._clock, self.ids, placement, node))

        async def read(node: Node) -> Result | Unavailable:
            try:
                limits = self._nodes.limits_of(node, self._readers)
                return await self._reading.run(partial(run, node), limits)  # type: ignore[no-any-return]
            except Unavailable as error:
                return error

        outcomes = await asyncio.gather(*map(read, placement.nodes))
        results = [outcome for outcome in outcomes if not isinstance(outcome, Unavailable)]
        return NodeResults(results, len(outcomes) - len(results))

    def nodes(self) -> Mapping[int, bool]:
        return self._nodes.states()

    def _is_node_failure(self, error: psycopg.Error) -> bool:
        return self._nodes.placement is not None and is_node_failure(error)

    def _check_nodes(self, limits: GroupLimits) -> None:
        if self._nodes.failed(limits):
            raise Unavailable
