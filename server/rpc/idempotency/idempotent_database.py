"""Runs the writes of requests with an idempotency key once.

The write of such a request also stores its response, in the same transaction: after a
crash both exist or neither. A repeated request with the key returns the stored response and
has no effect. A failed request stores nothing and can be repeated.

Responses are encrypted: the response to CreateApiKey contains the key itself, which is not
stored anywhere else. A response is stored with digests of the persons that it or its request names,
and is removed when one of them is erased. Its key then stays in use for the rest of the 24 hours: a
repeated request must not create the person again.
"""

from __future__ import annotations

from collections.abc import (
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from google.protobuf.message import Message

from ...security.encryption import Encryption
from ...storage.database import Database, Result, Work, WrappedDatabase
from ...storage.shared_work import SharedWork
from ...storage.transaction import Transaction
from ...values.emails import addresses_in
from ...values.ids import is_id
from ..errors import (
    IdempotencyKeyInUse,
    IdempotencyKeyReused,
    IdempotentResponseErased,
    RosterError,
)
from . import store

# Part of the key of stored responses, so that it cannot change.
_PURPOSE = "kept answer"
_PERSON = "person of a stored response"
# Characters of the digest of a person.
_DIGEST_LENGTH = 24
# More than the duration of a search for responses, and than the difference of two clocks.
_RECENT_MILLISECONDS = 10 * 60 * 1000
# A response that names more persons is removed with every person. A bulk names up to 200, and
# AddSuppressions up to 1,000.
_MAX_PERSONS = 2_000


@dataclass(slots=True)
class Request:
    """A request with an idempotency key. `read` parses a serialized response.

    `message` is the request, which can name persons; None if its response is never erased.
    """

    account_id: str
    key: str
    fingerprint: str
    read: Callable[[bytes], Any]
    message: Message | None = None
    replayed: bool = False

    @property
    def owner(self) -> tuple[str, str]:
        """The primary key of the stored response."""
        return self.account_id, self.key


_current: ContextVar[Request | None] = ContextVar("request", default=None)


class IdempotentDatabase(WrappedDatabase):
    """A database that runs the writes of a request with an idempotency key once.

    Such a request makes one write, which returns the response message. A request with effects
    outside of the database makes two: `begin` before and `conclude` after these effects. In
    between, the key is in use for all processes.
    """

    def __init__(self, database: Database, encryption: Encryption) -> None:
        super().__init__(database)
        self._encryption = encryption
        self._running: set[tuple[str, str]] = set()

    def enter(self, request: Request) -> None:
        """Begins a request. Raises IdempotencyKeyInUse if its key is in use in this process."""
        if request.owner in self._running:
            raise IdempotencyKeyInUse
        self._running.add(request.owner)
        _current.set(request)

    def leave(self, request: Request) -> None:
        """Ends a request."""
        _current.set(None)
        self._running.discard(request.owner)

    def write(self, work: Work[Result]) -> Coroutine[Any, Any, Result]:
        request = _current.get()
        if request is None:
            return super().write(work)
        if isinstance(work, SharedWork):
            shared = SharedWork(("once", work.key), (request, work), self._run_all_once)
            return super().write(shared)
        return super().write(partial(self._run_once, request, work))

    async def write_apart(self, work: Work[Result]) -> Result:
        """Runs a repeatable write that prepares the write of the request."""
        return await self._database.write(work)

    async def begin(self, work: Work[Result]) -> Result | Any:
        """Returns the stored response, or runs the work and returns its result.

        Commits the work independently of the rest of the call, and marks the key as in use.
        Raises IdempotencyKeyReused or IdempotencyKeyInUse.
        """
        request = _current.get()
        if request is None:
            return await self._database.write(work)
        return await self._database.write(lambda tx: self._begin(request, work, tx))

    async def conclude(self, work: Work[Result]) -> Result:
        """Runs the work in any case, because it records effects that have happened.

        Stores its response unless one is stored. If the work fails, releases the key.
        """
        request = _current.get()
        if request is None:
            return await self._database.write(work)
        try:
            return await self._database.write(lambda tx: self._conclude(request, work, tx))
        except RosterError:
            await self._database.write(lambda tx: store.release(*request.owner, tx))
            raise

    def responses_naming(
        self, account_id: str, names: Iterable[str], tx: Transaction, since: int = 0
    ) -> set[str]:
        """Returns the keys of the responses since a time that can name a person.

        `names` are the ID and the addresses, by `text_key`.
        """
        persons = [self._person(account_id, name) for name in names]
        return {key for each in persons for key in store.keys_naming(account_id, each, since, tx)}

    def erase(
        self, account_id: str, names: Collection[str], found: set[str], tx: Transaction
    ) -> None:
        """Removes the responses `found` by `responses_naming`, and newer ones with these names."""
        recent = self.responses_naming(account_id, names, tx, tx.now - _RECENT_MILLISECONDS)
        store.erase(account_id, found | recent, tx)

    def _run_once(self, request: Request, work: Work[Any], tx: Transaction) -> Any:
        """Returns the stored response, or runs the work and stores its response.

        Raises IdempotencyKeyReused if the key belongs to a different request.
        """
        stored = self._stored(request, tx)
        if stored is not None:
            return stored
        response = work(tx)
        self._store_response(request, response, tx)
        return response

    def _run_all_once(
        self, calls: Sequence[tuple[Request, SharedWork[Any, Any]]], tx: Transaction
    ) -> Sequence[Any]:
        """Returns the outcome of each call, as `_run_once` does. They are of one account."""
        requests = [request for request, _ in calls]
        rows = store.find_all(requests[0].account_id, [each.key for each in requests], tx)
        outcomes: dict[str, Any] = {}
        new = []
        for request, work in calls:
            try:
                outcomes[request.key] = self._response_of(request, rows.get(request.key))
            except RosterError as error:
                outcomes[request.key] = error
            if outcomes[request.key] is None:
                new.append((request, work))
        if new:
            results = new[0][1].run_all([work.argument for _, work in new], tx)
            for (request, _), result in zip(new, results, strict=True):
                outcomes[request.key] = result
                if not isinstance(result, Exception):
                    self._store_response(request, result, tx)
        return [outcomes[request.key] for request in requests]

    def _begin(self, request: Request, work: Work[Any], tx: Transaction) -> Any:
        stored = self._stored(request, tx)
        if stored is not None:
            return stored
        result = work(tx)
        store.mark_running(*request.owner, self._fingerprint(request), tx)
        return result

    def _conclude(self, request: Request, work: Work[Any], tx: Transaction) -> Any:
        stored = store.find(*request.owner, tx)
        response = work(tx)
        if stored is None or stored.is_running:
            self._store_response(request, response, tx)
        return response

    def _stored(self, request: Request, tx: Transaction) -> Any | None:
        return self._response_of(request, store.find(*request.owner, tx))

    def _response_of(self, request: Request, stored: store.StoredResponseRow | None) -> Any | None:
        """Returns the parsed response. Raises IdempotencyKeyReused or IdempotencyKeyInUse."""
        if stored is None:
            return None
        if stored.is_running:
            raise IdempotencyKeyInUse
        if stored.is_erased:
            raise IdempotentResponseErased
        if stored.fingerprint != self._fingerprint(request):
            raise IdempotencyKeyReused
        request.replayed = True
        return request.read(self._encryption.open(_PURPOSE, stored.response, *request.owner))

    def _store_response(self, request: Request, response: Any, tx: Transaction) -> None:
        data = response.SerializeToString()
        encrypted = self._encryption.encrypt(_PURPOSE, data, *request.owner)
        row = store.StoredResponseRow(self._fingerprint(request), encrypted)
        names = [*islice(_names_in(request.message, request.read(data)), _MAX_PERSONS + 1)]
        persons = None
        if len(names) <= _MAX_PERSONS:
            persons = " ".join(self._person(request.account_id, name) for name in names)
        store.put(*request.owner, row, tx, persons)

    def _person(self, account_id: str, name: str) -> str:
        return self._encryption.digest(_PERSON, account_id, name)[:_DIGEST_LENGTH]

    def _fingerprint(self, request: Request) -> str:
        # A keyed hash: a request can be as short as an address, which could be guessed.
        return self._encryption.digest(_PURPOSE, *request.owner, request.fingerprint)


def _names_in(*messages: Message | None) -> Iterator[str]:
    """Yields the different IDs and addresses in messages."""
    for text in {each for message in messages for each in _texts_in(message)}:
        if "@" in text:
            yield from addresses_in(text)
        elif is_id(text):
            yield text


def _texts_in(value: Any) -> Iterator[str]:
    """Yields the texts in a message, or in the value of a field."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Message):
        for _, each in value.ListFields():
            yield from _texts_in(each)
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts_in(each)
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        for each in value:
            yield from _texts_in(each)
