"""Returns and removes data about a person in other packages, for SubscriberService."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice

from roster.v1 import subscribers_pb2 as pb
from roster.v1.deliveries_pb2 import Event

from ...rpc.idempotency.idempotent_database import IdempotentDatabase
from ...storage.transaction import Transaction
from ..events.store_subscriber import (
    count_about,
    events_about,
    remove_from_operation_events,
    remove_person,
)
from ..exports.store import delete_all as delete_all_exports
from ..files.store_content import Files
from ..imports.jobs.store_persons import remove_from_imports
from ..operations.store_persons import remove_from_operations
from ..subscribers.store_history import Person
from ..suppressions.store import Suppressions
from .delivery.store_deliveries import (
    attempts_of,
    deliveries_of,
    receivers_of,
    remove_requests_and_responses,
)
from .messages import attempt, delivery, event

# Per transaction.
MAX_CHANGED_EVENTS = 100


class PersonalData:
    """The events and deliveries about persons, and what else names them: operations, imports and
    stored responses.
    """

    def __init__(
        self, database: IdempotentDatabase, suppressions: Suppressions, files: Files
    ) -> None:
        self._database = database
        self._files = files
        self._suppressions = suppressions

    def read(
        self, account_id: str, subscriber_id: str, sequence: int, delivery_id: str, tx: Transaction
    ) -> Iterator[tuple[int, str, Event | pb.PersonalDelivery]]:
        """Yields events and deliveries after a position, and the position of each.

        A position is the sequence number of an event, and the ID of a delivery, or an empty
        string for the event itself.
        """
        for row in events_about(account_id, subscriber_id, sequence, tx):
            after = delivery_id if row.sequence == sequence else ""
            if row.sequence > sequence:
                yield row.sequence, "", event(account_id, row.envelope, with_links=False)
            for stored in deliveries_of(account_id, row.sequence, tx, after):
                rows = attempts_of(account_id, stored.id, tx)
                attempts = [attempt(stored.event_id, row) for row in rows]
                message = pb.PersonalDelivery(delivery=delivery(stored), attempts=attempts)
                yield row.sequence, stored.id, message

    def count(
        self, account_id: str, subscriber_id: str, tx: Transaction
    ) -> tuple[int, list[pb.ErasureReceiver]]:
        """Returns the number of events about a person, and the webhooks that were sent some."""
        receivers = [
            pb.ErasureReceiver(webhook_id=webhook_id, url=url, events=events)
            for webhook_id, url, events in receivers_of(account_id, subscriber_id, tx)
        ]
        return count_about(account_id, subscriber_id, tx), receivers

    def responses(self, account_id: str, person: Person, tx: Transaction) -> set[str]:
        """Returns the keys of the stored responses that can name a person."""
        return self._database.responses_naming(account_id, (person.id, *person.addresses), tx)

    async def remove_early(self, account_id: str, person: Person) -> int:
        """Removes a person who has many events from most of them, in short transactions.

        Returns the sequence number from which `remove` continues.
        """

        def end_after(first: int, tx: Transaction) -> int:
            events = list(
                islice(events_about(account_id, person.id, first, tx), MAX_CHANGED_EVENTS)
            )
            return events[-1].sequence + 1 if len(events) == MAX_CHANGED_EVENTS else 0

        first = 0
        while end := await self._database.read(partial(end_after, first)):
            await self._database.write_apart(
                partial(_remove_from_events, account_id, person.id, first, end)
            )
            first = end
        return first

    def remove(
        self, account_id: str, person: Person, responses: set[str], first: int, tx: Transaction
    ) -> None:
        """Removes a person from events, deliveries, operations, imports and stored responses.

        `responses` were found shortly before, and `first` was returned by `remove_early`.
        """
        addresses = person.addresses
        self._database.erase(account_id, (person.id, *addresses), responses, tx)
        # Records events of operations that end.
        delete_all_exports(account_id, tx)
        remove_from_operations(account_id, addresses, tx)
        remove_from_imports(account_id, addresses, self._suppressions, tx)
        _remove_from_events(account_id, person.id, first, None, tx)
        for row in remove_from_operation_events(account_id, addresses, tx):
            remove_requests_and_responses(account_id, row.sequence, tx)

    async def remove_files(self, account_id: str) -> None:
        """Removes the bytes of the files that `remove` deleted from the disk."""
        await self._files.collect(account_id)


def _remove_from_events(
    account_id: str, subscriber_id: str, first: int, end: int | None, tx: Transaction
) -> None:
    """Removes a person from the events from a sequence number to another one, or to the last."""
    for row in events_about(account_id, subscriber_id, first, tx):
        if end is not None and row.sequence >= end:
            return
        remove_person(account_id, row, tx)
        remove_requests_and_responses(account_id, row.sequence, tx)
