"""Runs the operations of all accounts in the background of a process.

Accounts take turns: one step of an account, then one of the next, so that a long operation does
not delay those of others. A step takes about `STEP_SECONDS` and is followed by a pause, which
leaves the writer and the CPU to calls: a longer one while calls use the database. A search every
second finds operations that other processes have started, or that ended with their process.
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
from ...rpc.errors import Internal, OperationNotFound, StatementTimeout, Unavailable
from ...storage.database import Database
from ...storage.transaction import Transaction
from .store import ids_of_any_account_with_running
from .store_steps import Selection, StepResult, Steps, select_next

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
# Accounts that one search returns.
POLL_LIMIT = 1_000
# Subscribers of an account that are selected ahead. Lookups wait for the selection, so that it is
# short, unless it takes long anyway: with some filters a second for a large list, however many it
# selects. Then more are selected.
FIRST_SELECTED = 2_000
SELECT_SECONDS = 0.1
# Of all accounts, approximately.
MAX_SELECTED = 50_000
# A selection that exceeds the statement timeout of the database server is repeated among this many
# subscribers of the account, then among a quarter of them and so on.
FIRST_SPAN, MIN_SPAN = 100_000, 1_000
# Longer steps are faster, but calls wait for them and for the CPU. The latencies of calls are those
# without an operation only if few of them arrive during its steps, and if its statements are short
# (`get_99th_beside_operation` in `make bench`). Pauses are relative to the time of the step before.
STEP_SECONDS = 0.005
PAUSE, PAUSE_BESIDE_CALLS, MAX_PAUSE_SECONDS = 0.5, 5.0, 1.0
MIN_STEP, FIRST_STEP, MAX_STEP = 20, 100, 1_000
# How long pauses stay long after a call. Any other use of the database counts as one, such as the
# delivery of webhooks.
CALLS_SECONDS = 0.1
# Errors of a database that is not available at the moment.
_TEMPORARY_ERRORS = (Unavailable, Internal)


class OperationRunner:
    """Runs operations in one task.

    If `others_serve`, other processes receive the calls, and pauses are always long.
    """

    def __init__(
        self,
        database: Database,
        steps: Steps,
        *,
        others_serve: bool = False,
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        self._database = database
        self._steps = steps
        # Identifies this process. If no other process can serve the database, an operation of an
        # earlier one continues at once.
        self._runner = "" if database.alone else secrets.token_hex(8)
        self._poll_seconds = poll_seconds
        # Ordered sets: accounts take turns.
        self._accounts: dict[str, None] = {}
        self._selections: dict[str, Selection] = {}
        self._sizes: dict[str, int] = {}
        self._limits: dict[str, int] = {}
        self._spans: dict[str, int] = {}
        self._wake = asyncio.Event()
        self._beside_calls_until = math.inf if others_serve else 0.0
        # For the metrics.
        self.processed = 0
        self.seconds = 0.0
        # A write ignores that its task is canceled.
        self._is_stopping = False

    def notify(self, account_ids: Collection[str]) -> None:
        """Runs the operations of accounts as soon as possible."""
        self._accounts.update(dict.fromkeys(account_ids))
        self._wake.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Runs operations inside the block, while the database is open."""
        tasks = [asyncio.create_task(self._poll()), asyncio.create_task(self._run())]
        try:
            yield
        finally:
            self._is_stopping = True
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _poll(self) -> None:
        search = partial(ids_of_any_account_with_running, POLL_LIMIT)
        while True:
            try:
                for account_ids in (await self._database.read_nodes(search)).results:
                    self.notify(account_ids)
            except _TEMPORARY_ERRORS:
                log.warning("search for operations skipped: database not available")
            except Exception:
                log.exception("search for operations failed; it is repeated")
            await asyncio.sleep(self._poll_seconds)

    async def _run(self) -> None:
        while not self._is_stopping:
            await self._wake.wait()
            self._wake.clear()
            while self._accounts and not self._is_stopping:
                account_id = next(iter(self._accounts))
                del self._accounts[account_id]
                caller.enter_account(account_id)
                started = time.monotonic()
                try:
                    continues = await self._step(account_id)
                except _TEMPORARY_ERRORS:
                    # The search finds the account again.
                    self._forget(account_id)
                    log.warning("operation postponed: database not available")
                    continue
                except Exception:
                    self._forget(account_id)
                    log.exception("step of an operation failed; it is repeated")
                    continue
                if continues:
                    self._accounts[account_id] = None
                    await self._pause(time.monotonic() - started)

    async def _pause(self, step_seconds: float) -> None:
        before = self._database.transactions
        is_beside_calls = time.monotonic() < self._beside_calls_until
        factor = PAUSE_BESIDE_CALLS if is_beside_calls else PAUSE
        await asyncio.sleep(min(factor * step_seconds, MAX_PAUSE_SECONDS))
        if self._database.transactions > before:
            until = time.monotonic() + CALLS_SECONDS
            self._beside_calls_until = max(self._beside_calls_until, until)

    async def _step(self, account_id: str) -> bool:
        """Processes the next subscribers. Returns whether the account may have more work."""
        selection = self._selections.get(account_id)
        if selection is None:
            limit = self._limits.get(account_id, FIRST_SELECTED)
            limit = min(limit, max(MAX_SELECTED // (len(self._selections) + 1), MAX_STEP))
            span = self._spans.get(account_id)
            select = partial(_select, account_id, self._runner, limit, span)
            try:
                selection, seconds = await self._database.read(select)
            except StatementTimeout:
                await self._narrow(account_id)
                return True
            if selection is None:
                self._forget(account_id)
                return False
            if seconds > SELECT_SECONDS:
                self._limits[account_id] = min(4 * limit, MAX_SELECTED)
        size = self._sizes.get(account_id, FIRST_STEP)
        ids, rest = selection.ids[:size], selection.ids[size:]
        step = selection._replace(ids=ids, is_last=False, up_to="") if rest else selection
        started = time.monotonic()
        run = partial(self._steps.run, account_id, step, self._runner)
        try:
            result = await self._database.write(run)
        except OperationNotFound:
            result = StepResult.ENDED
        seconds = time.monotonic() - started
        self.seconds += seconds
        if result is not StepResult.TAKEN:
            self.processed += len(ids)
        if result is not StepResult.CONTINUES:
            self._forget(account_id)
            return result is StepResult.ENDED
        self._sizes[account_id] = _next_size(size, seconds)
        if rest:
            self._selections[account_id] = selection._replace(ids=rest)
        else:
            self._selections.pop(account_id, None)
        return True

    async def _narrow(self, account_id: str) -> None:
        """Selects among fewer subscribers from now on. Ends the operation if these are few."""
        span = self._spans.get(account_id, 4 * FIRST_SPAN) // 4
        if span >= MIN_SPAN:
            self._spans[account_id] = span
            log.warning("selection of an operation timed out; continues among %d", span)
            return
        self._forget(account_id)
        await self._database.write(partial(self._steps.fail, account_id, self._runner))
        log.error("operation ended: its selection among few subscribers timed out")

    def _forget(self, account_id: str) -> None:
        self._selections.pop(account_id, None)
        self._sizes.pop(account_id, None)
        self._limits.pop(account_id, None)
        self._spans.pop(account_id, None)


def _select(
    account_id: str, runner: str, limit: int, span: int | None, tx: Transaction
) -> tuple[Selection | None, float]:
    """Returns the next selection, and how long it took in seconds without waiting for a thread."""
    started = time.monotonic()
    return select_next(account_id, runner, limit, tx, span), time.monotonic() - started


def _next_size(size: int, seconds: float) -> int:
    """Returns the size of the next step, at most twice that of the last one."""
    wanted = int(size * STEP_SECONDS / max(seconds, 0.001))
    return max(MIN_STEP, min(wanted, 2 * size, MAX_STEP))
