"""Runs transactions on PostgreSQL, with one writer per account at a time.

A write transaction first takes the write lock in shared mode, and checks that this program has the
minimum version of the schema (`schema_version.py`). This takes no round trip of its own.

It takes an advisory lock on each account before its first statement for
the account, and holds it until the commit is visible. So a check still holds when the
store acts on it, for example that a name is free or a limit is not reached. Transactions
that take one account lock cannot deadlock. The lock costs little: the row that counts an
account's subscribers serializes its writers in any case. Writers of different accounts do
not wait for each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import psycopg
from peewee import Database, PeeweeException

from ...values.clock import Clock
from ...values.ids import Ids
from ..dialects import PostgresDialect
from ..schema_version import PROGRAM_VERSION, READ_MINIMUM, SHARE_WRITES, check_minimum
from ..statements import Statement
from ..transaction import Transaction

DIALECT = PostgresDialect()

# Each statement sees all earlier commits, which include those of the previous holder of
# the lock.
_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
_BEGIN_READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_SAVEPOINT, _RELEASE = "SAVEPOINT request", "RELEASE SAVEPOINT request;"
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


class Commands:
    """Begins and commits a transaction, and takes the locks of accounts.

    BEGIN is sent with the first lock or statement. Writes of several callers are separated by
    savepoints.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._begun = False
        self._has_savepoint = False
        self._locked: set[str] = set()
        self._locked_at_savepoint: set[str] = set()

    def begin(self) -> None:
        """Begins the transaction, unless it has begun. Raises SchemaTooNew."""
        if not self._begun:
            self._begin()

    def lock(self, account_id: str) -> None:
        """Locks an account until the end of the transaction. Raises SchemaTooNew."""
        if account_id in self._locked:
            return
        lock = f"pg_advisory_xact_lock({lock_of(account_id)})"
        if self._begun:
            self._send(f"SELECT {lock}")
        else:
            self._begin(f", {lock}")
        self._locked.add(account_id)

    def savepoint(self) -> None:
        """Starts the next write. `roll_back_to_savepoint` undoes only its effects."""
        self.begin()
        self._send(f"{_RELEASE if self._has_savepoint else ''} {_SAVEPOINT}")
        self._has_savepoint = True
        self._locked_at_savepoint = set(self._locked)

    def roll_back_to_savepoint(self) -> None:
        """Undoes the current write, which also releases the locks that it took."""
        self._send("ROLLBACK TO SAVEPOINT request")
        self._locked = set(self._locked_at_savepoint)

    def _begin(self, lock: str = "") -> None:
        """Begins in one round trip, with the write lock and the given one.

        The minimum version is read by a statement after them, which sees what was committed before.
        """
        results = self._send(f"{_BEGIN}; SELECT {SHARE_WRITES}{lock}; {READ_MINIMUM}")
        self._begun = True
        ((minimum,),) = results.set_result(2).fetchall()
        check_minimum(minimum, PROGRAM_VERSION)

    def _send(self, text: str) -> psycopg.Cursor[Any]:
        cursor: psycopg.Cursor[Any] = self._database.connection().execute(text, prepare=False)
        return cursor

    def commit(self) -> None:
        """Commits durably. Raises OutcomeUnknown or RolledBack."""
        if self._begun:
            _commit(self._database.connection())


class PostgresTransaction(Transaction):
    """Runs statements on PostgreSQL.

    Statements with one plan are prepared. Values are written into the text of the others, so that
    each execution is planned for its values.
    """

    __slots__ = ()

    def __init__(self, database: Database, clock: Clock, ids: Ids) -> None:
        super().__init__(database, DIALECT, clock, ids)

    def _execute(self, statement: Statement, values: Mapping[str, Any]) -> Any:
        self.statements += 1
        prepared = statement.prepared(DIALECT, self._database)
        connection, arguments = self._database.connection(), prepared.arguments(values)
        if statement.has_one_plan:
            return connection.execute(prepared.sql, arguments)
        return psycopg.ClientCursor(connection).execute(prepared.sql, arguments)


class WriteTransaction(PostgresTransaction):
    """A write, alone in a transaction or with others that share its `commands`."""

    __slots__ = ("_commands",)

    def __init__(
        self, database: Database, clock: Clock, ids: Ids, commands: Commands | None = None
    ) -> None:
        super().__init__(database, clock, ids)
        self._commands = commands or Commands(database)

    def commit(self) -> None:
        """Commits durably. Raises OutcomeUnknown or RolledBack."""
        self._commands.commit()

    def raw(self) -> Database:
        self._commands.begin()
        return super().raw()

    def run_each(self, statement: Statement, values: Sequence[Mapping[str, Any]]) -> None:
        # In a pipeline: one round trip.
        first, *others = values
        self._execute(statement, first)
        if others:
            assert statement.has_one_plan
            prepared = statement.prepared(DIALECT, self._database)
            arguments = [prepared.arguments(each) for each in others]
            self._database.connection().cursor().executemany(prepared.sql, arguments)

    def _execute(self, statement: Statement, values: Mapping[str, Any]) -> Any:
        if statement.without_account_lock:
            self._commands.begin()
        else:
            self._commands.lock(values.get("account_id", _NO_ACCOUNT))
        return super()._execute(statement, values)


def begin_reading(database: Database) -> None:
    """Begins a read-only transaction, whose snapshot is taken by its first statement."""
    database.connection().execute(_BEGIN_READING)


def reading(database: Database, clock: Clock, ids: Ids) -> Transaction:
    """Returns a Transaction for reads in the current transaction."""
    return PostgresTransaction(database, clock, ids)


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
