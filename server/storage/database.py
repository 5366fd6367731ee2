"""The interface of a database, independent of its type.

A caller passes one function to `read` or `write`. The function receives a Transaction and
runs in a database thread, so that a request needs one thread switch instead of one per
query.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    # Not at run time, so that commands that only need StorageError do not import Peewee.
    from .transaction import Transaction

Result = TypeVar("Result")
Work = Callable[["Transaction"], Result]
# Receives the fingerprints of the secret keys that open a database. Raises StorageError if none of
# them is available.
AcceptKey = Callable[[Collection[str]], object]
Run = Callable[[Callable[[Work[Any]], Work[Any]]], Awaitable[Result]]


class NodeResults(NamedTuple, Generic[Result]):
    """The results of the nodes that respond, and the number of the other nodes."""

    results: list[Result]
    not_responding: int = 0


class Database(Protocol):
    """Runs transactions for callers on the event loop.

    `alone` is true if no other process can serve the database. `files_folder` is where large files
    are stored; None if they are stored in the database.
    """

    alone: bool
    files_folder: Path | None

    @property
    def transactions(self) -> int:
        """The number of units of work that have begun in this process."""

    async def open(self, accept_key: AcceptKey | None = None) -> None:
        """Connects and applies pending migrations, which can take minutes.

        A database that was served is migrated only if `accept_key` accepts its secret key. If
        canceled, rolls back the running migration. Raises StorageError if the database cannot be
        used.
        """

    async def read(self, work: Work[Result]) -> Result:
        """Runs the work in one snapshot and returns its result."""

    async def read_parts(self, works: Sequence[Work[Result]]) -> list[Result]:
        """Runs the parts of a long read, at the same time if there are idle threads.

        The parts can read different snapshots.
        """

    async def read_nodes(self, work: Work[Result]) -> NodeResults[Result]:
        """Runs the work on each node of a distributed database, for the accounts of the node.

        Other databases have one node. Statements without an account return the rows of each
        shard of the node.
        """

    async def write(self, work: Work[Result]) -> Result:
        """Runs the work as one transaction and returns once it is durable.

        An exception of the work rolls it back and is raised. Raises Unavailable, without
        effect, if the database is not available.
        """

    def listen(self, listener: Callable[[Collection[str]], None]) -> None:
        """Calls a listener on the event loop with the IDs of accounts after a commit.

        Commits of other processes are included, but their notifications can be lost. A
        listener that must miss nothing also polls.
        """

    async def close(self) -> None:
        """Finishes running transactions and disconnects."""


class WrappedDatabase:
    """Another database, for subclasses that add something to its units of work."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.alone, self.listen = database.alone, database.listen
        self.files_folder = database.files_folder
        self.open, self.close = database.open, database.close

    @property
    def transactions(self) -> int:
        return self._database.transactions

    def read(self, work: Work[Result]) -> Coroutine[Any, Any, Result]:
        return self._database.read(work)

    def read_parts(self, works: Sequence[Work[Result]]) -> Coroutine[Any, Any, list[Result]]:
        return self._database.read_parts(works)

    def read_nodes(self, work: Work[Result]) -> Coroutine[Any, Any, NodeResults[Result]]:
        return self._database.read_nodes(work)

    def write(self, work: Work[Result]) -> Coroutine[Any, Any, Result]:
        return self._database.write(work)


class SurroundedDatabase(WrappedDatabase):
    """A database that adds something to all units of work of another one, in `around`."""

    async def read(self, work: Work[Result]) -> Result:
        return await self.around("read", lambda wrapped: self._database.read(wrapped(work)))

    async def read_parts(self, works: Sequence[Work[Result]]) -> list[Result]:
        read = self._database.read_parts
        return await self.around("read", lambda wrapped: read([*map(wrapped, works)]))

    async def read_nodes(self, work: Work[Result]) -> NodeResults[Result]:
        return await self.around("read", lambda wrapped: self._database.read_nodes(wrapped(work)))

    async def write(self, work: Work[Result]) -> Result:
        return await self.around("write", lambda wrapped: self._database.write(wrapped(work)))

    async def around(self, kind: str, run: Run[Result]) -> Result:
        """Runs units of work of a kind, `read` or `write`.

        `run` receives a wrapper, and calls it with each unit of work.
        """
        raise NotImplementedError


class StorageError(Exception):
    """The database cannot be used. The message is for the operator: the cause and the remedy."""


class SchemaTooNew(StorageError):
    """The database requires a later version of the program. A running process then ends."""
