"""A transaction on PostgreSQL: how it begins, whose lock it holds, and what its commit says.

An account has one writer at a time, as a SQLite file has one in all. What writes takes
a lock of each account that it names, before the first statement that names it, and
holds it until the commit is there for everyone to see. So what a store has found still
holds when it acts on it: that a name is free, that there is room for one more, that
nobody had opted out. Two that lock nothing else can neither get in each other's way nor
wait for each other in a circle. It costs little: the row that counts the subscribers of
an account has one writer at a time in any case. Accounts do not wait for each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import psycopg
from peewee import Database, PeeweeException

from ...clock import Clock
from ...ids import Ids
from ..dialects import PostgresDialect
from ..statements import Statement
from ..transaction import Transaction

DIALECT = PostgresDialect()

# Each statement sees what was committed before it: all that the holder of the lock
# before this one has done.
_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
_BEGIN_READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# What belongs to no account, such as the creation of one, has a lock of its own.
_NO_ACCOUNT = ""
# Serialization failure, and deadlock: what may succeed when it is done again at once.
_CONFLICTS = ("40001", "40P01")
# Classes of errors by which a commit tells that it had no effect: conflicts, and broken
# constraints; and the one among them that does not.
_UNDONE, _COMPLETION_UNKNOWN = ("40", "23"), "40003"
# The server takes no writes any more, since another one does; it gave an idle
# transaction up.
_READ_ONLY = "25006"
_TRANSIENT = (_READ_ONLY, "25P03")


class OutcomeUnknown(Exception):
    """Nobody can tell whether a commit stands: its answer was lost, or said so."""


class RolledBack(Exception):
    """What was to be committed had failed before."""


class WriteTransaction(Transaction):
    """A transaction that writes; it begins with its first statement."""

    __slots__ = ("_begun", "_locked")

    def __init__(self, database: Database, clock: Clock, ids: Ids) -> None:
        super().__init__(database, DIALECT, clock, ids)
        self._begun = False
        self._locked: set[str] = set()

    def commit(self) -> None:
        """Returns once all that was done is durable. Raises OutcomeUnknown or RolledBack."""
        if not self._begun:
            return
        _commit(self._database.connection())

    def _execute(self, statement: Statement, values: Mapping[str, Any]) -> Any:
        account_id = values.get("account_id", _NO_ACCOUNT)
        if statement.without_account_lock:
            self._begin()
        elif account_id not in self._locked:
            self._begin(f"SELECT pg_advisory_xact_lock({lock_of(account_id)})")
            self._locked.add(account_id)
        return super()._execute(statement, values)

    def _begin(self, first: str = "") -> None:
        """Sends what comes first, and what begins the transaction before it."""
        text = first if self._begun else f"{_BEGIN}; {first}"
        if text:
            self._database.connection().execute(text, prepare=False)
        self._begun = True


def begin_reading(database: Database) -> None:
    """Begins a transaction that sees everything as it is with its first statement."""
    database.connection().execute(_BEGIN_READING)


def reading(database: Database, clock: Clock, ids: Ids) -> Transaction:
    """Returns what reads in the transaction that was begun."""
    return Transaction(database, DIALECT, clock, ids)


@lru_cache(10_000)
def lock_of(account_id: str) -> int:
    """Returns the number of an account's lock. Two accounts may have the same, and wait."""
    name = f"roster account {account_id}".encode()
    return int.from_bytes(blake2b(name, digest_size=8).digest(), signed=True)


def _commit(connection: psycopg.Connection[Any]) -> None:
    warnings: list[str | None] = []

    def note(notice: psycopg.errors.Diagnostic) -> None:
        warnings.append(notice.message_primary)

    connection.add_notice_handler(note)
    try:
        answer = connection.execute("COMMIT", prepare=False).statusmessage
    except psycopg.Error as error:
        if _is_undone(error.sqlstate):
            raise
        raise OutcomeUnknown(str(error)) from error
    finally:
        connection.remove_notice_handler(note)
    if answer != "COMMIT":
        raise RolledBack(answer)
    # It warns where the wait for a standby was cut short: here the commit stands, there
    # it may not.
    if warnings:
        raise OutcomeUnknown(warnings[0])


def _is_undone(state: str | None) -> bool:
    return state is not None and state[:2] in _UNDONE and state != _COMPLETION_UNKNOWN


def undo(database: Database, error: BaseException | None = None) -> None:
    """Ends what was begun without effect. A connection that is no use any more is closed."""
    if database.is_closed():
        return
    connection = database.connection()
    cause = driver_error(error) if error is not None else None
    if isinstance(error, OutcomeUnknown) or (cause and cause.sqlstate == _READ_ONLY):
        connection.close()
    try:
        if not connection.closed:
            connection.rollback()
    except psycopg.Error:
        connection.close()
    if connection.closed:
        database.close()


def driver_error(error: BaseException) -> psycopg.Error | None:
    """Returns what the driver raised, whether Peewee has wrapped it or not."""
    if isinstance(error, PeeweeException):
        error = error.__context__ or error
    return error if isinstance(error, psycopg.Error) else None


def is_transient(error: psycopg.Error) -> bool:
    """Whether an error is of the moment: the server or a lock could not be had in time."""
    return isinstance(error, psycopg.OperationalError) or error.sqlstate in _TRANSIENT


def is_conflict(error: psycopg.Error) -> bool:
    """Whether a transaction failed because of others that ran beside it."""
    return error.sqlstate in _CONFLICTS
