"""Returns and removes personal data in events and deliveries, for SubscriberService."""

from __future__ import annotations

from collections.abc import Iterator

from roster.v1 import subscribers_pb2 as pb
from roster.v1 import webhooks_pb2

from ..events.store_subscriber import events_about, remove_person
from ..storage.transaction import Transaction
from .delivery.store_deliveries import attempts_of
from .delivery.store_subscriber import deliveries_of, remove_responses
from .messages import attempt, delivery, event


class PersonalEvents:
    """The events about one subscriber with their deliveries."""

    def read(
        self, account_id: str, subscriber_id: str, sequence: int, delivery_id: str, tx: Transaction
    ) -> Iterator[tuple[int, str, webhooks_pb2.Event | pb.PersonalDelivery]]:
        """Yields events and deliveries after a position, and the position of each.

        A position is the sequence number of an event, and the ID of a delivery, or an empty
        string for the event itself.
        """
        for row in events_about(account_id, subscriber_id, sequence, tx):
            after = delivery_id if row.sequence == sequence else ""
            if row.sequence > sequence:
                yield row.sequence, "", event(row.envelope, with_links=False)
            for stored in deliveries_of(account_id, row.sequence, tx, after):
                attempts = map(attempt, attempts_of(account_id, stored.id, tx))
                message = pb.PersonalDelivery(delivery=delivery(stored), attempts=attempts)
                yield row.sequence, stored.id, message

    def remove(self, account_id: str, subscriber_id: str, tx: Transaction) -> None:
        """Removes personal data from all stored events about a subscriber and their deliveries."""
        for row in events_about(account_id, subscriber_id, 0, tx):
            remove_person(account_id, row, tx)
            remove_responses(account_id, row.sequence, tx)
