"""Runs the operations of all accounts in the background of a process.

Accounts take turns, one step each, so that a long operation does not delay those of others. While
calls use the database, the runner sleeps after each step, so that calls get the writer and the CPU.
Steps are then short, because a call can wait for one, and sleeps are longer the later the event
loop resumes the runner. Without calls it does not sleep. Every second it polls for operations that
other processes started, whose process died, or that had to wait.
"""

from __future__ import annotations

import asyncio
import logging
import math
import secrets
import time
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from functools import partial

from ...rpc import caller
from ...rpc.errors import (
    FileQuotaExceeded,
    InsufficientStorage,
    Internal,
    OperationNotFound,
    RosterError,
    StatementTimeout,
    Unavailable,
)
from ...storage.database import Database
from ...storage.transaction import Transaction
from .operation_database import OperationDatabase
from .store import OperationRow, ids_of_any_account_with_running
from .store_steps import Selection, StepOutcome, StepResult, Steps

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
# Maximum number of accounts that a poll returns, of each node. The next poll returns those after
# them, because operations of many accounts can wait for a long time.
POLL_LIMIT = 1_000
# Subscribers that a query selects for the next steps. Few, because other reads wait for the query.
# If it is slow with any limit, because its filter scans the list, the limit is raised.
FIRST_SELECTED = 2_000
SLOW_SELECT_SECONDS = 0.1
# Approximate maximum over all accounts.
MAX_SELECTED = 50_000
# A query that exceeds the statement timeout of the database server is repeated with a range of this
# many subscribers of the account, then of a quarter of them and so on.
FIRST_SPAN, MIN_SPAN = 100_000, 1_000
# Target duration of a step without its commit. Longer steps have a higher throughput.
STEP_SECONDS = 0.005
# Pauses while calls use the database, in multiples of the duration of the last step. Each
# millisecond by which the event loop resumes the runner too late adds one step.
MIN_PAUSE_FACTOR, MAX_PAUSE_FACTOR = 0.5, 5.0
FACTOR_PER_SECOND_OF_DELAY = 1_000
MAX_PAUSE_SECONDS = 1.0
# Subscribers per step.
FIRST_STEP, MAX_STEP = 100, 1_000
# Minimum per step and target duration while calls use the database. A step on an embedded database
# holds the interpreter, and calls wait for it (`get_99th_with_operation` in `make bench`); one on a
# server waits for statements most of the time.
EMBEDDED_STEP, EMBEDDED_STEP_SECONDS = 10, 0.0006
SERVER_STEP, SERVER_STEP_SECONDS = 20, 0.002
# Time without calls after which steps are long again and pauses end. Any other use of the database,
# such as the delivery of webhooks, counts as a call.
BUSY_SECONDS = 0.1
# Fewer transactions within a window are no load: clients read the progress of operations.
BUSY_TRANSACTIONS, BUSY_WINDOW_SECONDS = 5, 0.5
# Errors of a database that is not available at the moment, and of a full disk.
_TEMPORARY_ERRORS = (Unavailable, Internal, InsufficientStorage)


class OperationRunner:
    """Runs operations in one task.

    If `others_serve`, other processes receive the calls, so steps are short and pauses long.
    """

    def __init__(
        self,
        database: Database,
        steps: Steps,
        *,
        others_serve: bool = False,
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        self._database = OperationDatabase.of(database)
        self._steps = steps
        # Identifies this process. If no other process can use the database, it is empty, which
        # continues an operation of an earlier process without waiting for the end of its lease.
        self._runner = "" if database.alone else secrets.token_hex(8)
        self._min_step = EMBEDDED_STEP if database.alone else SERVER_STEP
        self._busy_seconds = EMBEDDED_STEP_SECONDS if database.alone else SERVER_STEP_SECONDS
        self._poll_seconds = poll_seconds
        # An ordered set, in the order of turns.
        self._accounts: dict[str, None] = {}
        # By account.
        self._selections: dict[str, Selection] = {}
        self._step_sizes: dict[str, int] = {}
        self._select_limits: dict[str, int] = {}
        self._select_spans: dict[str, int] = {}
        self._wake = asyncio.Event()
        self._busy_until = math.inf if others_serve else 0.0
        # The number of transactions of others at a time, and how many of them were recent then.
        self._others, self._others_at, self._recent = 0, 0.0, 0.0
        # How late the event loop resumes this task, in seconds: a moving average of some pauses.
        self._delay = 0.0
        self._min_pause_factor = MAX_PAUSE_FACTOR if others_serve else MIN_PAUSE_FACTOR
        # The account of the step of a job, unless it was notified during the step.
        self._account_of_job = ""
        # The part of a step in which a job makes pauses itself.
        self._prepared_seconds = 0.0
        # For the metrics.
        self.processed = 0
        self.seconds = 0.0
        # A task that is canceled during a write continues after it, so `_run` checks this flag too.
        self._is_stopping = False

    def notify(self, account_ids: Collection[str]) -> None:
        """Runs the operations of accounts as soon as possible."""
        for account_id in account_ids:
            selection = self._selections.get(account_id)
            if selection is not None and selection.job is not None:
                # An earlier operation may be able to continue.
                del self._selections[account_id]
            if account_id == self._account_of_job:
                self._account_of_job = ""
        self._accounts.update(dict.fromkeys(account_ids))
        self._wake.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Runs operations inside the block, while the database is open."""
        self._others, self._others_at = self._database.transactions_of_others, time.monotonic()
        tasks = [asyncio.create_task(self._poll()), asyncio.create_task(self._run())]
        try:
            yield
        finally:
            self._is_stopping = True
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _poll(self) -> None:
        after = ""
        while True:
            try:
                poll = partial(ids_of_any_account_with_running, after, POLL_LIMIT)
                results = (await self._database.read_nodes(poll)).results
                for account_ids in results:
                    self.notify(account_ids)
                after = min((ids[-1] for ids in results if len(ids) == POLL_LIMIT), default="")
            except _TEMPORARY_ERRORS:
                log.warning("poll for operations skipped: database not available")
            except Exception:
                log.exception("poll for operations failed; it is repeated")
            await asyncio.sleep(self._poll_seconds)

    async def _run(self) -> None:
        while not self._is_stopping:
            await self._wake.wait()
            self._wake.clear()
            while self._accounts and not self._is_stopping:
                account_id = next(iter(self._accounts))
                del self._accounts[account_id]
                caller.enter_account(account_id)
                about = {"accountId": account_id}
                started, self._prepared_seconds = time.monotonic(), 0.0
                try:
                    has_more = await self._step(account_id)
                except _TEMPORARY_ERRORS:
                    # The next poll returns the account again.
                    self._forget(account_id)
                    log.warning("operation postponed: database or disk not available", extra=about)
                    continue
                except Exception:
                    self._forget(account_id)
                    log.exception("step of an operation failed; it is repeated", extra=about)
                    continue
                if has_more:
                    self._accounts[account_id] = None
                    await self._pause(time.monotonic() - started - self._prepared_seconds)

    async def _pause(self, step_seconds: float) -> bool:
        """Sleeps after a step while calls use the database. Returns whether they do."""
        seconds = 0.0
        if self._is_busy():
            factor = self._min_pause_factor + FACTOR_PER_SECOND_OF_DELAY * self._delay
            seconds = min(min(factor, MAX_PAUSE_FACTOR) * step_seconds, MAX_PAUSE_SECONDS)
        end = time.monotonic() + seconds
        await asyncio.sleep(seconds)
        self._delay += (time.monotonic() - end - self._delay) / 8
        return self._is_busy()

    def _is_busy(self) -> bool:
        """Whether calls use the database."""
        now, others = time.monotonic(), self._database.transactions_of_others
        expired = (now - self._others_at) * BUSY_TRANSACTIONS / BUSY_WINDOW_SECONDS
        self._recent = max(self._recent - expired, 0.0) + others - self._others
        self._others, self._others_at = others, now
        if self._recent >= BUSY_TRANSACTIONS:
            self._recent = BUSY_TRANSACTIONS
            self._busy_until = max(self._busy_until, now + BUSY_SECONDS)
        return now < self._busy_until

    async def _step(self, account_id: str) -> bool:
        """Processes the next subscribers. Returns whether the account may have more work."""
        selection = self._selections.get(account_id)
        if selection is None:
            limit = self._select_limits.get(account_id, FIRST_SELECTED)
            limit = min(limit, max(MAX_SELECTED // (len(self._selections) + 1), MAX_STEP))
            span = self._select_spans.get(account_id)
            select = partial(_select, self._steps, account_id, self._runner, limit, span)
            try:
                selection, seconds = await self._database.read(select)
            except StatementTimeout:
                await self._narrow(account_id)
                return True
            if selection is None:
                self._forget(account_id)
                return False
            if seconds > SLOW_SELECT_SECONDS:
                self._select_limits[account_id] = min(4 * limit, MAX_SELECTED)
        if selection.job is not None:
            return await self._run_job(account_id, selection.job)
        size = self._step_sizes.get(account_id, FIRST_STEP)
        ids, rest = selection.ids[:size], selection.ids[size:]
        step = selection._replace(ids=ids, is_last=False, up_to="") if rest else selection
        started = time.monotonic()
        run = partial(_run, self._steps, account_id, step, self._runner)
        try:
            outcome, seconds = await self._database.write(run)
        except OperationNotFound:
            outcome, seconds = StepOutcome(StepResult.ENDED), 0.0
        self.seconds += time.monotonic() - started
        self.processed += outcome.processed
        if outcome.result is not StepResult.CONTINUES:
            self._forget(account_id)
            # The account may have another operation.
            return outcome.result is StepResult.ENDED
        target = self._busy_seconds if time.monotonic() < self._busy_until else STEP_SECONDS
        wanted = int(size * target / max(seconds, 0.0001))
        self._step_sizes[account_id] = max(self._min_step, min(wanted, 2 * size, MAX_STEP))
        if rest:
            self._selections[account_id] = selection._replace(ids=rest)
        else:
            self._selections.pop(account_id, None)
        return True

    async def _run_job(self, account_id: str, row: OperationRow) -> bool:
        """Runs one step of a job. Returns whether the account may have more work."""
        started = time.monotonic()
        self._selections.pop(account_id, None)
        self._account_of_job = account_id
        try:
            step = await self._steps.prepare(account_id, row, self._pause)
            self._prepared_seconds = time.monotonic() - started
            work = partial(self._steps.commit, account_id, row, step, self._runner)
            outcome = await self._database.write(work)
        except OperationNotFound:
            return True
        except RosterError as error:
            is_temporary = isinstance(error, _TEMPORARY_ERRORS)
            if is_temporary and not isinstance(error, FileQuotaExceeded):
                raise
            log.warning("job failed: %s", error.reason, extra={"accountId": account_id})
            fail = partial(self._steps.fail_job, account_id, row.id, error, self._runner)
            outcome = await self._database.write(fail)
        self.seconds += time.monotonic() - started
        self.processed += outcome.processed
        if outcome.row is not None and account_id == self._account_of_job:
            # The next step needs no selection.
            self._selections[account_id] = Selection(row.id, [], is_last=False, job=outcome.row)
        return outcome.result is not StepResult.TAKEN

    async def _narrow(self, account_id: str) -> None:
        """Reduces the range of later selections. Ends the operation at the smallest range."""
        span = self._select_spans.get(account_id, 4 * FIRST_SPAN) // 4
        about = {"accountId": account_id}
        if span >= MIN_SPAN:
            self._select_spans[account_id] = span
            message = "selection of an operation timed out; retrying with %d subscribers"
            log.warning(message, span, extra=about)
            return
        self._forget(account_id)
        await self._database.write(partial(self._steps.fail, account_id, self._runner))
        message = "operation failed: selection timed out even with few subscribers"
        log.error(message, extra=about)

    def _forget(self, account_id: str) -> None:
        self._selections.pop(account_id, None)
        self._step_sizes.pop(account_id, None)
        self._select_limits.pop(account_id, None)
        self._select_spans.pop(account_id, None)


def _select(
    steps: Steps, account_id: str, runner: str, limit: int, span: int | None, tx: Transaction
) -> tuple[Selection | None, float]:
    """Returns the next selection, and its duration in seconds without the wait for a thread."""
    started = time.monotonic()
    return steps.select_next(account_id, runner, limit, tx, span), time.monotonic() - started


def _run(
    steps: Steps, account_id: str, selection: Selection, runner: str, tx: Transaction
) -> tuple[StepOutcome, float]:
    """Runs a step. Returns its duration in seconds too, without waits and the commit."""
    started = time.monotonic()
    return steps.run(account_id, selection, runner, tx), time.monotonic() - started
