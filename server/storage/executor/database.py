"""What databases of both kinds have in common: executors that run their transactions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from ...values.clock import Clock
from ...values.ids import Ids
from ..database import Database, NodeResults, Result, SchemaTooNew, Work
from ..notifications import Listener, Notifications
from .batch_executor import BatchExecutor


class ExecutorDatabase(Database):
    """Runs transactions with executors."""

    files_folder: Path | None = None
    # Writers first. Set when the database is open.
    executors: Sequence[BatchExecutor[Work[Any]]] = ()
    # Called on the event loop when the database requires a later version of the program.
    on_outdated: Callable[[SchemaTooNew], None] | None = None

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._notifications = Notifications()
        # They ascend within this process. Between processes, the clocks determine their order.
        self.ids = Ids(clock)
        self._closing = AsyncExitStack()
        # The progress of a running migration; empty if there is none.
        self.migration = ""

    @property
    def transactions(self) -> int:
        return sum(each.stats.waits.count for each in self.executors)

    async def read_nodes(self, work: Work[Result]) -> NodeResults[Result]:
        return NodeResults([await self.read(work)])

    def listen(self, listener: Listener) -> None:
        self._notifications.listen(listener)

    async def close(self) -> None:
        await self._closing.aclose()

    def bytes_on_disk(self) -> Mapping[str, int]:
        """Returns file sizes by content; empty for a database server."""
        return {}

    def free_bytes(self) -> int | None:
        """Returns the free space of the disk with the database; None for a database server."""
        return None

    def report_migration(self, text: object) -> None:
        """Sets the progress of a migration. Can be called from any thread."""
        self.migration = str(text)

    def details(self) -> Sequence[str]:
        """Returns what an operator should know: nodes that do not respond, a migration."""
        nodes = [
            f"database node {node} does not respond"
            for node, responds in self.nodes().items()
            if not responds
        ]
        return [*nodes, self.migration] if self.migration else nodes

    def nodes(self) -> Mapping[int, bool]:
        """Returns whether each node of a distributed database responds, by ID."""
        return {}
