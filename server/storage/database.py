"""What services and the command line know of a database.

A service hands one plain function to `read` or `write`. The function gets a
Transaction and runs as one transaction, in a thread, with one hop for the whole
request; never a query at a time from the event loop. Only look-ups by key may be done
there, a crowd at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol, TypeVar

from .transaction import Transaction

Result = TypeVar("Result")
Work = Callable[[Transaction], Result]


class Database(Protocol):
    """A place where units of work run, seen from asyncio.

    `alone` says whether no other process serves it.
    """

    alone: bool

    async def open(self) -> None:
        """Connects, and brings the schema up to date, which may take long.

        If cancelled, a migration that runs is undone. Raises StorageError if the database
        cannot be served.
        """

    async def read(self, work: Work[Result]) -> Result:
        """Runs the work on one consistent view and returns what it returns."""

    async def lookup(self, work: Work[Result]) -> Result:
        """Runs work as `read` does that finds few rows by their keys, and nothing else.

        It may run on the event loop.
        """

    async def write(self, work: Work[Result]) -> Result:
        """Runs the work as one transaction and returns once it is durable.

        Whatever the work raises undoes all of it. Raises Unavailable, without
        effect, if the database cannot take it now.
        """

    def listen(self, listener: Callable[[Collection[str]], None]) -> None:
        """Has accounts told of, on the event loop, once what makes news of them stands.

        What other processes write is told of as well, as long as their news gets here:
        whoever has to miss nothing also looks for himself now and then.
        """

    async def close(self) -> None:
        """Finishes what was begun and lets go of the database."""


class StorageError(Exception):
    """The database cannot be used at all; the text tells the operator why and what helps."""
