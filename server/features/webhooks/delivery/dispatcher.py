"""Delivers events: finds accounts with work, leases due deliveries, sends them, stores the results.

Accounts are published after the commit of a change. Every second the dispatcher polls for accounts
whose notification was lost. A process runs one dispatch cycle per account at a time: in one
transaction it stores the results of finished attempts and leases due deliveries. Each leased
delivery is sent in its own task, whose end starts the next cycle. Several processes can
dispatch from one database: a cycle skips an account that another process has locked.

If the result of an attempt cannot be stored, the delivery is sent again when its lease ends. So
each event is delivered at least once, always with the same ID.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from functools import partial

from ....rpc import caller
from ....rpc.errors import Internal, Unavailable
from ....storage.database import Database
from ....values.counts import RunningCounts
from ..egress.resolver import LookupNotStarted
from ..rules import MAX_IN_FLIGHT_PER_ACCOUNT, DisabledReason
from .sender import Sender
from .store_leases import Lease, LeasedDelivery, find_leases, release
from .store_queue import ids_of_any_account_with_queue, ids_of_any_account_with_work
from .store_results import FinishedAttempt, disable, record_attempts, run_cycle

log = logging.getLogger(__name__)

# Seconds between polls for accounts with work.
POLL_SECONDS = 1.0
# Maximum number of accounts that a poll returns.
POLL_LIMIT = 100
# Maximum concurrent cycles. Few, because calls write to the database too.
MAX_CYCLES = 4
# Deliveries in flight per process, approximately: a cycle may exceed it by one account's limit.
# When half of the capacity is used, an account gets at most ACCOUNT_SHARE.
MAX_IN_FLIGHT = 1_000
ACCOUNT_SHARE = 4
# Seconds that running attempts get to finish when the process stops.
DRAIN_SECONDS = 5.0
# Errors of a database that is not available at the moment.
_TEMPORARY_ERRORS = (Unavailable, Internal)


class Dispatcher:
    """Delivers due deliveries in tasks of one process. `attempts` counts attempts by outcome."""

    def __init__(
        self,
        database: Database,
        sender: Sender,
        *,
        poll_seconds: float = POLL_SECONDS,
        drain_seconds: float = DRAIN_SECONDS,
    ) -> None:
        self._database = database
        self._sender = sender
        self._poll_seconds = poll_seconds
        self._drain_seconds = drain_seconds
        # An ordered set: accounts are processed in the order of their first notification.
        self._notified: dict[str, None] = {}
        self._wake = asyncio.Event()
        self._cycles: dict[str, asyncio.Task[None]] = {}
        self._in_flight: dict[asyncio.Task[None], tuple[str, LeasedDelivery]] = {}
        self._in_flight_per_account: RunningCounts[str] = RunningCounts()
        self._finished: dict[str, list[FinishedAttempt]] = {}
        # Webhooks to disable, by account.
        self._to_disable: dict[str, dict[str, DisabledReason]] = {}
        self.attempts: Counter[str] = Counter()
        database.listen(self.notify)

    def notify(self, account_ids: Collection[str]) -> None:
        """Starts dispatch cycles of accounts as soon as possible."""
        self._notified.update(dict.fromkeys(account_ids))
        self._wake.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Delivers inside the block, while the database is open."""
        if self._database.alone:
            await self._release_orphans()
        tasks = [asyncio.create_task(self._poll()), asyncio.create_task(self._start_cycles())]
        try:
            yield
        finally:
            for task in (*tasks, *self._cycles.values()):
                task.cancel()
            await asyncio.gather(*tasks, *self._cycles.values(), return_exceptions=True)
            await self._drain()

    async def _release_orphans(self) -> None:
        """Releases the leases of an earlier process, which has ended."""
        for account_id in await self._database.read(ids_of_any_account_with_queue):
            leases = await self._database.read(partial(find_leases, account_id))
            if leases:
                await self._database.write(partial(release, account_id, leases))

    async def _poll(self) -> None:
        search = partial(ids_of_any_account_with_work, POLL_LIMIT)
        while True:
            try:
                # A node that does not respond delays only its own accounts.
                for account_ids in (await self._database.read_nodes(search)).results:
                    self.notify(account_ids)
            except _TEMPORARY_ERRORS:
                log.warning("search for due deliveries skipped: database not available")
            except Exception:
                log.exception("search for due deliveries failed; it is repeated")
            await asyncio.sleep(self._poll_seconds)

    async def _start_cycles(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            for account_id in list(self._notified):
                if len(self._cycles) >= MAX_CYCLES:
                    break
                if account_id not in self._cycles:
                    del self._notified[account_id]
                    task = asyncio.create_task(self._cycle(account_id))
                    task.add_done_callback(partial(self._end_cycle, account_id))
                    self._cycles[account_id] = task

    async def _cycle(self, account_id: str) -> None:
        """Stores finished attempts of an account and sends due deliveries."""
        caller.enter_account(account_id)
        about = {"accountId": account_id}
        finished = self._finished.pop(account_id, [])
        work = partial(run_cycle, account_id, finished, self._capacity(account_id))
        try:
            recorded, batch = await self._database.write(work)
        except BaseException as error:
            self._finished[account_id] = finished + self._finished.get(account_id, [])
            self._notify_later(account_id)
            if not isinstance(error, _TEMPORARY_ERRORS):
                raise
            log.warning("dispatch cycle postponed: database not available", extra=about)
            return
        if recorded.accepted < len(finished):
            rejected = len(finished) - recorded.accepted
            log.warning("%d results rejected: their leases had ended", rejected, extra=about)
        for leased in batch.deliveries:
            task = asyncio.create_task(self._send(account_id, leased))
            self._in_flight[task] = account_id, leased
            self._in_flight_per_account[account_id] += 1
            task.add_done_callback(self._end_attempt)
        self._to_disable.setdefault(account_id, {}).update(recorded.to_disable)
        await self._disable_failing(account_id)
        if batch.more:
            self.notify([account_id])

    def _end_cycle(self, account_id: str, task: asyncio.Task[None]) -> None:
        del self._cycles[account_id]
        self._wake.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            about = {"accountId": account_id}
            log.error("dispatch cycle failed; it is repeated", exc_info=error, extra=about)

    def _capacity(self, account_id: str) -> int:
        """Returns how many deliveries of an account this process may start now."""
        free = MAX_IN_FLIGHT - len(self._in_flight)
        if free >= MAX_IN_FLIGHT // 2:
            return MAX_IN_FLIGHT_PER_ACCOUNT
        return max(min(free, ACCOUNT_SHARE - self._in_flight_per_account[account_id]), 0)

    def _end_attempt(self, task: asyncio.Task[None]) -> None:
        account_id, _ = self._in_flight.pop(task)
        self._in_flight_per_account.end(account_id)

    async def _send(self, account_id: str, leased: LeasedDelivery) -> None:
        try:
            finished = await self._sender.send(account_id, leased)
        except LookupNotStarted:
            await self._postpone(account_id, leased)
            return
        self.attempts[outcome_label(finished)] += 1
        self._finished.setdefault(account_id, []).append(finished)
        self.notify([account_id])

    async def _postpone(self, account_id: str, leased: LeasedDelivery) -> None:
        """Makes a delivery due again that was not attempted, without counting an attempt."""
        try:
            await self._database.write(partial(release, account_id, [leased.delivery]))
        except _TEMPORARY_ERRORS:
            about = {"accountId": account_id, "deliveryId": leased.delivery.id}
            message = "lease not released; its delivery is due when the lease ends"
            log.warning(message, extra=about)
        self.notify([account_id])

    async def _disable_failing(self, account_id: str) -> None:
        """Disables failing webhooks. After an error, the next cycle continues."""
        to_disable = self._to_disable.pop(account_id, {})
        while to_disable:
            webhook_id, reason = next(iter(to_disable.items()))
            about = {"accountId": account_id, "webhookId": webhook_id}
            try:
                await self._database.write(partial(disable, account_id, webhook_id, reason))
            except BaseException as error:
                self._to_disable[account_id] = to_disable
                self._notify_later(account_id)
                if not isinstance(error, _TEMPORARY_ERRORS):
                    raise
                log.warning("webhook not disabled yet: database not available", extra=about)
                return
            log.warning("webhook disabled: %s", reason.name, extra=about)
            del to_disable[webhook_id]

    def _notify_later(self, account_id: str) -> None:
        asyncio.get_running_loop().call_later(self._poll_seconds, self.notify, [account_id])

    async def _drain(self) -> None:
        """Waits for running attempts, stores their results, and releases the other leases."""
        if self._in_flight:
            await asyncio.wait(self._in_flight, timeout=self._drain_seconds)
        unfinished = dict(self._in_flight)
        for task in unfinished:
            task.cancel()
        await asyncio.gather(*unfinished, return_exceptions=True)
        leases: dict[str, list[Lease]] = {account_id: [] for account_id in self._finished}
        for account_id, leased in unfinished.values():
            leases.setdefault(account_id, []).append(leased.delivery)
        for account_id, account_leases in leases.items():
            caller.enter_account(account_id)
            finished = self._finished.pop(account_id, [])
            try:
                if finished:
                    await self._database.write(partial(record_attempts, account_id, finished))
                await self._database.write(partial(release, account_id, account_leases))
            except Exception:
                message = "leases not released; their deliveries are due when the leases end"
                log.exception(message, extra={"accountId": account_id})


def outcome_label(finished: FinishedAttempt) -> str:
    """Returns the label of an attempt in the metrics. HTTP statuses are grouped by class."""
    if finished.http_status is not None and finished.error.startswith("HTTP "):
        return f"HTTP {finished.http_status // 100}xx"
    return finished.error or "succeeded"
