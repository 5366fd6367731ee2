"""Delivers events: finds accounts with work, takes on what is due, sends it, notes the outcome.

News of an account comes once the commit that made it stands, and every second a search
through all accounts makes up for news that got lost. Of each account one round at a time
runs in this process: in one transaction it notes what has ended and takes on what is due,
which is then sent, each delivery in a task of its own. When one ends there is room again,
and the next round begins. Several processes may do so on one database: a round passes over
an account that another one is busy with.

A delivery that was sent, and whose outcome could not be noted, is sent again when its
lease ends: at least once, with the same id.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from functools import partial

from ...errors import Internal, Unavailable
from ...storage.database import Database
from ..rules import MAX_IN_FLIGHT_PER_ACCOUNT, DisabledReason
from .sender import Sender
from .store_disabling import disable
from .store_leases import Lease, LeasedDelivery, leases_of, release
from .store_queue import ids_of_any_account_with_queue, ids_of_any_account_with_work
from .store_results import FinishedAttempt, record_attempts, run_cycle

log = logging.getLogger(__name__)

# Seconds between two searches for accounts with work.
POLL_SECONDS = 1.0
# Accounts that one search finds.
POLL_LIMIT = 100
# Accounts that are looked after at the same time: callers have writes to make as well.
MAX_CYCLES = 4
# Deliveries that a process sends at the same time, about; a round may add an account's.
# When half of them are taken, an account gets no more than its share.
MAX_SENDING = 1_000
ACCOUNT_SHARE = 4
# How long, in seconds, what is being sent may go on when the process is to end.
GRACE_SECONDS = 5.0
# What the database raises when it cannot take a transaction now.
_TEMPORARY_ERRORS = (Unavailable, Internal)


class Dispatcher:
    """Delivers what is due in a database, in the tasks of one process.

    `attempts` counts those that ended, by outcome.
    """

    def __init__(self, database: Database, sender: Sender) -> None:
        self._database = database
        self._sender = sender
        # In the order in which they were heard of.
        self._woken: dict[str, None] = {}
        self._wake = asyncio.Event()
        self._cycles: dict[str, asyncio.Task[None]] = {}
        self._sending: dict[asyncio.Task[None], tuple[str, LeasedDelivery]] = {}
        self._finished: dict[str, list[FinishedAttempt]] = {}
        # How many of them each account has.
        self._busy: Counter[str] = Counter()
        self.attempts: Counter[str] = Counter()
        database.listen(self.notify)

    def notify(self, account_ids: Collection[str]) -> None:
        """Looks after accounts as soon as possible."""
        self._woken.update(dict.fromkeys(account_ids))
        self._wake.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Delivers for the length of a block, while the database is open."""
        if self._database.alone:
            await self._release_orphans()
        tasks = [asyncio.create_task(self._poll()), asyncio.create_task(self._start_cycles())]
        try:
            yield
        finally:
            for task in (*tasks, *self._cycles.values()):
                task.cancel()
            await asyncio.gather(*tasks, *self._cycles.values(), return_exceptions=True)
            await self._end_sending()

    async def _release_orphans(self) -> None:
        """Makes due what an earlier process had taken on: nobody sends it any more."""
        for account_id in await self._database.read(ids_of_any_account_with_queue):
            leases = await self._database.read(partial(leases_of, account_id))
            if leases:
                await self._database.write(partial(release, account_id, leases))

    async def _poll(self) -> None:
        find = partial(ids_of_any_account_with_work, POLL_LIMIT)
        while True:
            try:
                self.notify(await self._database.read(find))
            except _TEMPORARY_ERRORS:
                log.warning("deliveries are not looked for, since the database cannot be had now")
            except Exception:
                log.exception("the search for deliveries failed; the next one may not")
            await asyncio.sleep(POLL_SECONDS)

    async def _start_cycles(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            for account_id in list(self._woken):
                if len(self._cycles) >= MAX_CYCLES:
                    break
                if account_id not in self._cycles:
                    del self._woken[account_id]
                    task = asyncio.create_task(self._cycle(account_id))
                    task.add_done_callback(partial(self._end_cycle, account_id))
                    self._cycles[account_id] = task

    async def _cycle(self, account_id: str) -> None:
        """Notes what has ended in an account, and sends what is due."""
        finished = self._finished.pop(account_id, [])
        work = partial(run_cycle, account_id, finished, self._capacity(account_id))
        try:
            recorded, batch = await self._database.write(work)
        except BaseException as error:
            self._finished[account_id] = finished + self._finished.get(account_id, [])
            asyncio.get_running_loop().call_later(POLL_SECONDS, self.notify, [account_id])
            if not isinstance(error, _TEMPORARY_ERRORS):
                raise
            log.warning("deliveries wait, since the database cannot take them now")
            return
        if recorded.accepted < len(finished):
            log.warning("%d late outcomes were not heard", len(finished) - recorded.accepted)
        for leased in batch.deliveries:
            task = asyncio.create_task(self._send(account_id, leased))
            self._sending[task] = account_id, leased
            self._busy[account_id] += 1
            task.add_done_callback(self._end_sending_one)
        for webhook_id, reason in recorded.to_disable.items():
            await self._disable(account_id, webhook_id, reason)
        if batch.more:
            self.notify([account_id])

    def _end_cycle(self, account_id: str, task: asyncio.Task[None]) -> None:
        del self._cycles[account_id]
        self._wake.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a round of deliveries failed; the next one may not", exc_info=error)

    def _capacity(self, account_id: str) -> int:
        """Returns how many more deliveries of an account this process may send now."""
        free = MAX_SENDING - len(self._sending)
        if free >= MAX_SENDING // 2:
            return MAX_IN_FLIGHT_PER_ACCOUNT
        return max(min(free, ACCOUNT_SHARE - self._busy[account_id]), 0)

    def _end_sending_one(self, task: asyncio.Task[None]) -> None:
        account_id, _ = self._sending.pop(task)
        self._busy[account_id] -= 1
        if not self._busy[account_id]:
            del self._busy[account_id]

    async def _send(self, account_id: str, leased: LeasedDelivery) -> None:
        finished = await self._sender.send(account_id, leased)
        self.attempts[outcome_label(finished)] += 1
        self._finished.setdefault(account_id, []).append(finished)
        self.notify([account_id])

    async def _disable(self, account_id: str, webhook_id: str, reason: DisabledReason) -> None:
        log.warning("webhook %s is disabled: %s", webhook_id, reason.name)
        await self._database.write(partial(disable, account_id, webhook_id, reason))

    async def _end_sending(self) -> None:
        """Waits a while for what is being sent, notes it, and leaves the rest to others."""
        if self._sending:
            await asyncio.wait(self._sending, timeout=GRACE_SECONDS)
        left = list(self._sending.items())
        for task, _ in left:
            task.cancel()
        await asyncio.gather(*(task for task, _ in left), return_exceptions=True)
        leases: dict[str, list[Lease]] = {account_id: [] for account_id in self._finished}
        for _, (account_id, leased) in left:
            mine = Lease(leased.delivery.id, leased.delivery.fence)
            leases.setdefault(account_id, []).append(mine)
        for account_id, deliveries in leases.items():
            try:
                await self._release_leases(account_id, deliveries)
            except Exception:
                log.exception("deliveries of an account wait for the end of their leases")

    async def _release_leases(self, account_id: str, leases: Sequence[Lease]) -> None:
        finished = self._finished.pop(account_id, [])
        if finished:
            await self._database.write(partial(record_attempts, account_id, finished))
        await self._database.write(partial(release, account_id, leases))


def outcome_label(finished: FinishedAttempt) -> str:
    """Returns what an attempt counts as: statuses by their hundreds, since there are many."""
    if finished.http_status is not None and finished.error.startswith("answered"):
        return f"answered {finished.http_status // 100}xx"
    return finished.error or "succeeded"
