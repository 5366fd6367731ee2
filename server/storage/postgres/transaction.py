"""Runs transactions on PostgreSQL, with one writer per account at a time.

A write transaction takes an advisory lock on each account before its first statement for
the account, and holds it until the commit is visible. So a check still holds when the
store acts on it, for example that a name is free or a limit is not reached. Transactions
that take one account lock cannot deadlock. The lock costs little: the row that counts an
account's subscribers serializes its writers in any case. Writers of different accounts do
not wait for each other.
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

# Each statement sees all earlier commits, which include those of the previous holder of
# the lock.
_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
_BEGIN_READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# The lock of statements without an account, such as the creation of one.
_NO_ACCOUNT = ""
# Serialization failure and deadlock: an immediate retry can succeed.
_CONFLICTS = ("40001", "40P01")
# Error classes of a commit without effect: rollback and constraint violation. The one
# exception among them leaves the outcome unknown.
_UNDONE, _COMPLETION_UNKNOWN = ("40", "23"), "40003"
# The server has become read-only after a failover; idle_in_transaction_session_timeout.
_READ_ONLY = "25006"
_TRANSIENT = (_READ_ONLY, "25P03")
# Classes of errors of Citus: connection exception, internal error.
_NODE_FAILURES = ("08", "XX")


class OutcomeUnknown(Exception):
    """It is unknown whether a commit succeeded: the connection was lost, or the server warned."""


class RolledBack(Exception):
    """The transaction had already failed, so COMMIT rolled it back."""


class WriteTransaction(Transaction):
    """A transaction that writes. BEGIN is sent with its first statement."""

    __slots__ = ("_begun", "_locked")

    def __init__(self, database: Database, clock: Clock, ids: Ids) -> None:
        super().__init__(database, DIALECT, clock, ids)
        self._begun = False
        self._locked: set[str] = set()

    def commit(self) -> None:
        """Commits durably. Raises OutcomeUnknown or RolledBack."""
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
        """Runs `first`, preceded by BEGIN if the transaction has not begun."""
        text = first if self._begun else f"{_BEGIN}; {first}"
        if text:
            self._database.connection().execute(text, prepare=False)
        self._begun = True


def begin_reading(database: Database) -> None:
    """Begins a read-only transaction, whose snapshot is taken by its first statement."""
    database.connection().execute(_BEGIN_READING)


def reading(database: Database, clock: Clock, ids: Ids) -> Transaction:
    """Returns a Transaction for reads in the current transaction."""
    return Transaction(database, DIALECT, clock, ids)


@lru_cache(10_000)
def lock_of(account_id: str) -> int:
    """Returns the lock key of an account. Accounts with equal keys wait for each other."""
    name = f"roster account {account_id}".encode()
    return int.from_bytes(blake2b(name, digest_size=8).digest(), signed=True)


def _commit(connection: psycopg.Connection[Any]) -> None:
    warnings: list[str | None] = []

    def note(notice: psycopg.errors.Diagnostic) -> None:
        warnings.append(notice.message_primary)

    connection.add_notice_handler(note)
    try:
        status = connection.execute("COMMIT", prepare=False).statusmessage
    except psycopg.Error as error:
        if _is_undone(error.sqlstate):
            raise
        raise OutcomeUnknown(str(error)) from error
    finally:
        connection.remove_notice_handler(note)
    if status != "COMMIT":
        raise RolledBack(status)
    # A warning means that the wait for a standby was canceled: the commit is durable on the
    # primary, but possibly not on the standby.
    if warnings:
        raise OutcomeUnknown(warnings[0])


def _is_undone(state: str | None) -> bool:
    return state is not None and state[:2] in _UNDONE and state != _COMPLETION_UNKNOWN


def undo(database: Database, error: BaseException | None = None) -> None:
    """Rolls back the current transaction. Closes a connection that is no longer usable."""
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
    """Returns the driver's error, also if Peewee has wrapped it, or None."""
    if isinstance(error, PeeweeException):
        error = error.__context__ or error
    return error if isinstance(error, psycopg.Error) else None


def is_transient(error: psycopg.Error) -> bool:
    """Whether an error is temporary: the server or a lock was not available in time."""
    return isinstance(error, psycopg.OperationalError) or error.sqlstate in _TRANSIENT


def is_node_failure(error: psycopg.Error) -> bool:
    """Whether a statement failed because of a node of a Citus cluster or a moved shard.

    Citus reports many of these failures as internal errors.
    """
    return error.sqlstate is not None and error.sqlstate[:2] in _NODE_FAILURES


def is_conflict(error: psycopg.Error) -> bool:
    """Whether a transaction failed because of concurrent transactions."""
    return error.sqlstate in _CONFLICTS
