"""Requests that have their effect once, however often they are sent.

While a call with an idempotency key runs, its write also keeps its answer, in the
same transaction: after a crash either both are there or neither. The next request
with the key finds the answer there and has no effect of its own. A request that
fails keeps nothing, since it changed nothing, and is tried afresh.

Answers are sealed: that to the creation of an API key holds the key itself, which
is stored nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from ..encryption import Encryption
from ..errors import IdempotencyKeyInUse, IdempotencyKeyReused, RosterError
from ..storage.database import Database, Result, Work
from ..storage.transaction import Transaction
from . import store

_PURPOSE = "kept answer"


@dataclass(slots=True)
class Request:
    """A request that came with a key. `read` makes an answer of the bytes of one."""

    account_id: str
    key: str
    fingerprint: str
    read: Callable[[bytes], Any]
    replayed: bool = False

    @property
    def owner(self) -> tuple[str, str]:
        """Where the answer is kept."""
        return self.account_id, self.key


_current: ContextVar[Request | None] = ContextVar("request", default=None)


class IdempotentDatabase:
    """A database whose writes are done once for a request that came with a key.

    Such a request makes one write, whose work returns the answer as a message. One that
    acts outside of the database makes two: `begin` before it acts, `conclude` after that.
    In between the key is in use for all processes.
    """

    def __init__(self, database: Database, encryption: Encryption) -> None:
        self._database = database
        self._encryption = encryption
        self.alone = database.alone
        self._running: set[tuple[str, str]] = set()

    @contextmanager
    def request(self, request: Request) -> Iterator[None]:
        """Runs a block for a request. Raises IdempotencyKeyInUse if its key is in one already."""
        if request.owner in self._running:
            raise IdempotencyKeyInUse
        self._running.add(request.owner)
        token = _current.set(request)
        try:
            yield
        finally:
            _current.reset(token)
            self._running.discard(request.owner)

    def listen(self, listener: Callable[[Collection[str]], None]) -> None:
        self._database.listen(listener)

    async def open(self) -> None:
        await self._database.open()

    async def close(self) -> None:
        await self._database.close()

    async def read(self, work: Work[Result]) -> Result:
        return await self._database.read(work)

    async def lookup(self, work: Work[Result]) -> Result:
        return await self._database.lookup(work)

    async def write(self, work: Work[Result]) -> Result:
        request = _current.get()
        if request is None:
            return await self._database.write(work)
        return await self._database.write(lambda tx: self._run_once(request, work, tx))

    async def begin(self, work: Work[Result]) -> Result | Any:
        """Returns the answer that is kept for the request, or what the work returns.

        The work stands whatever becomes of the call, and the key is in use from then on. Raises
        IdempotencyKeyReused or IdempotencyKeyInUse.
        """
        request = _current.get()
        if request is None:
            return await self._database.write(work)
        return await self._database.write(lambda tx: self._begun(request, work, tx))

    async def conclude(self, work: Work[Result]) -> Result:
        """Does the work, whatever is kept by now: what it tells of has happened.

        Keeps its answer, if none is kept. If the work fails, the key is free again.
        """
        request = _current.get()
        if request is None:
            return await self._database.write(work)
        try:
            return await self._database.write(lambda tx: self._concluded(request, work, tx))
        except RosterError:
            await self._database.write(lambda tx: store.release(*request.owner, tx))
            raise

    def _run_once(self, request: Request, work: Work[Any], tx: Transaction) -> Any:
        """Returns the answer that is kept, or does the work and keeps its answer.

        Raises IdempotencyKeyReused if the key came with another request.
        """
        kept = self._kept(request, tx)
        if kept is not None:
            return kept
        answer = work(tx)
        self._keep(request, answer, tx)
        return answer

    def _begun(self, request: Request, work: Work[Any], tx: Transaction) -> Any:
        kept = self._kept(request, tx)
        if kept is not None:
            return kept
        result = work(tx)
        store.mark_running(*request.owner, self._fingerprint(request), tx)
        return result

    def _concluded(self, request: Request, work: Work[Any], tx: Transaction) -> Any:
        kept = store.find(*request.owner, tx)
        answer = work(tx)
        if kept is None or kept.is_running:
            self._keep(request, answer, tx)
        return answer

    def _kept(self, request: Request, tx: Transaction) -> Any | None:
        kept = store.find(*request.owner, tx)
        if kept is None:
            return None
        if kept.is_running:
            raise IdempotencyKeyInUse
        if kept.fingerprint != self._fingerprint(request):
            raise IdempotencyKeyReused
        request.replayed = True
        return request.read(self._encryption.open(_PURPOSE, kept.answer, *request.owner))

    def _keep(self, request: Request, answer: Any, tx: Transaction) -> None:
        encrypted = self._encryption.encrypt(_PURPOSE, answer.SerializeToString(), *request.owner)
        store.put(
            *request.owner, store.StoredResponseRow(self._fingerprint(request), encrypted), tx
        )

    def _fingerprint(self, request: Request) -> str:
        # Keyed: a request may be no more than an address, which could be guessed.
        return self._encryption.digest(_PURPOSE, *request.owner, request.fingerprint)
