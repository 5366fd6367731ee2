"""Stores sign-ups. An existing subscriber is never changed."""

from __future__ import annotations

from collections.abc import Mapping

from ..emails import Email
from ..errors import Detail, SubscriberNotFound, SubscriberSuppressed, ValidationError
from ..events.rules import EventType, Resource, created
from ..events.store import record
from ..events.store_subscriber import has_recent_event
from ..links import Links
from ..storage.transaction import Transaction
from ..subscribers.fields import Status, SubscriberRow
from ..subscribers.history import Actor
from ..subscribers.linked import LinkedSubscriber, urls_of
from ..subscribers.rules import CONFIRMABLE, NewSubscriber
from ..subscribers.store import SubscriberStore
from ..subscribers.store_reading import find
from ..suppressions.store import Suppressions
from ..tags import store as tags

# Milliseconds in which a subscriber has at most one event that can cause a confirmation mail, so
# that a form cannot be used to send someone many mails.
REPEAT_TIME = 10 * 60 * 1000
_EVENT_TYPES = (EventType.SUBSCRIBER_CREATED, EventType.SUBSCRIBER_SIGNUP_REPEATED)


class SignupStore:
    """Stores the sign-ups of all accounts."""

    def __init__(
        self, subscribers: SubscriberStore, suppressions: Suppressions, links: Links
    ) -> None:
        self._subscribers = subscribers
        self._suppressions = suppressions
        self._links = links

    def check(
        self, account_id: str, new: NewSubscriber, tag_paths: Mapping[str, str], tx: Transaction
    ) -> None:
        """Raises ValidationError for tags that do not exist, and for values without a field.

        `tag_paths` are the JSON paths of the tags by key. The result does not depend on the
        subscribers of the account.
        """
        _check_tags(account_id, new.tags, tag_paths, tx)
        self._subscribers.check_values(account_id, new.values, tx)

    def sign_up(self, account_id: str, new: NewSubscriber, tx: Transaction, by: Actor) -> None:
        """Creates a subscriber, unless there is one with the address or it is suppressed."""
        existing = _existing(account_id, new.email, tx)
        if existing is not None:
            self._record_repeated(account_id, existing, tx)
            return
        try:
            self._subscribers.create(account_id, new, tx, by)
        except SubscriberSuppressed:
            return

    def _record_repeated(self, account_id: str, row: SubscriberRow, tx: Transaction) -> None:
        if Status(row.status) not in CONFIRMABLE:
            return
        if self._suppressions.suppressed_among(account_id, [row.email_key], tx):
            return
        if has_recent_event(account_id, row.id, _EVENT_TYPES, tx.now - REPEAT_TIME, tx):
            return
        resource: Resource = row
        if self._links.has_url:
            urls = urls_of(account_id, row, self._links, tx.now, can_confirm=True)
            resource = LinkedSubscriber(row, urls)
        record(account_id, [created(EventType.SUBSCRIBER_SIGNUP_REPEATED, resource)], tx)


def _existing(account_id: str, email: Email, tx: Transaction) -> SubscriberRow | None:
    try:
        return find(account_id, email, tx)
    except SubscriberNotFound:
        return None


def _check_tags(
    account_id: str, names: Mapping[str, str], paths: Mapping[str, str], tx: Transaction
) -> None:
    known = tags.by_keys(account_id, names, tx) if names else {}
    unknown = [key for key in names if key not in known]
    if unknown:
        message = "must be the name of an existing tag"
        raise ValidationError([Detail(paths[key], "INVALID_VALUE", message) for key in unknown])
