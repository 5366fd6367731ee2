"""Jobs: operations that other features define, such as exports.

A feature implements `Job`, and `app.py` registers it with its type. A step has two parts. `prepare`
does what needs no transaction, such as reading and formatting rows or writing a part of a file. It
can be repeated, and nothing of it counts before `JobStep.commit`, which stores the result in the
transaction that stores the progress. So a job that is killed at any point continues after its last
committed step.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

from ...storage.transaction import Transaction
from .store import OperationRow

# Waits after some milliseconds of work, so that calls get the database and the CPU. Receives the
# duration of the work in seconds, and returns whether calls use the database.
Pause = Callable[[float], Awaitable[bool]]


class JobStep(NamedTuple):
    """A prepared step.

    `commit` receives the operation as it was prepared and returns it with its progress: a greater
    `after_id` or `processed`, unless it `is_last`. An error rolls the step back.
    """

    commit: Callable[[OperationRow, Transaction], OperationRow]
    is_last: bool = False


class Job(Protocol):
    """Long work of one type, in steps. Its request is the `JobRequest` of the operation.

    A RosterError ends the operation as failed with its reason, unless the cause is temporary, such
    as Unavailable or a full disk: then the step is repeated. Other exceptions are logged, and the
    step is repeated.
    """

    def is_waiting(self, account_id: str, row: OperationRow, tx: Transaction) -> bool:
        """Whether a job cannot continue yet. Later operations of the account run meanwhile."""

    async def prepare(self, account_id: str, row: OperationRow, pause: Pause) -> JobStep:
        """Does the work of the next step of a job outside of a transaction.

        Calls `pause` after each few milliseconds of work. A step may take longer than the lease of
        its process: if another process has continued the job meanwhile, the step is not committed.
        """
