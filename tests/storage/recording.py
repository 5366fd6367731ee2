"""A transaction on SQLite that records the plan and cost of each statement."""

from __future__ import annotations

from typing import Any, NamedTuple

import apsw

from rosterd.server.storage.sqlite.file import DIALECT
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.clock import system_clock
from rosterd.server.values.ids import Ids


class Step(NamedTuple):
    """A completed statement, its query plan, and its number of virtual machine steps."""

    sql: str
    plan: list[str]
    machine_steps: int


class RecordingTransaction(Transaction):
    def __init__(self, tx: Transaction) -> None:
        super().__init__(tx._database, DIALECT, lambda: tx.now, Ids(system_clock))
        self.recorded: list[Step] = []

    def _execute(self, statement: Any, values: Any) -> Any:
        prepared = statement.prepared(self._dialect, self._database)
        arguments = prepared.arguments(values)
        lines = self._database.execute_sql(f"EXPLAIN QUERY PLAN {prepared.sql}", arguments)
        plan = [detail for *_, detail in lines.fetchall()]
        connection, costs = self._database.connection(), []

        def note(event: dict[str, Any]) -> None:
            costs.append(event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"])

        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, note)
        rows = self._database.execute_sql(prepared.sql, arguments).fetchall()
        connection.trace_v2(0)
        self.recorded.append(Step(prepared.sql, plan, sum(costs)))
        return Fetched(rows, connection)


class Fetched(list[Any]):
    """Fetched rows with the interface of a cursor. `connection` counts the changed rows."""

    def __init__(self, rows: list[Any], connection: apsw.Connection) -> None:
        super().__init__(rows)
        self.connection = connection

    def fetchall(self) -> list[Any]:
        return list(self)

    def fetchone(self) -> Any:
        return self[0] if self else None
