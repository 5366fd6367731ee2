"""Stores sign-ups. An existing subscriber is never changed, other than in its history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from peewee import SQL, Expression, Node

from ...rpc.errors import Detail, ValidationError
from ...security.links import Links
from ...storage.statements import Dialect, Statement, param
from ...storage.transaction import Transaction
from ...values.emails import Email
from ..custom_fields import store as custom_fields
from ..custom_fields.rules import typed_value
from ..events.rules import EventType, Resource, created
from ..events.store import record
from ..events.store_subscriber import has_recent_event
from ..subscribers.fields import SubscriberRow
from ..subscribers.history import Source
from ..subscribers.linked import LinkedSubscriber, urls_of
from ..subscribers.models import Subscriber
from ..subscribers.rules import CONFIRMABLE, NewSubscriber
from ..subscribers.store import SubscriberStore
from ..subscribers.store_reading import IN_ACCOUNT, find_or_none, ids_by_address
from ..subscribers.store_repeated import record_added_again
from ..suppressions.store import Suppressions
from ..tags import store as tags
from .rules import GMAIL_DOMAINS, gmail_user

# Milliseconds in which a mailbox has at most one event that can cause a confirmation mail, so
# that a form cannot be used to send someone many mails.
REPEAT_TIME = 10 * 60 * 1000
_EVENT_TYPES = (EventType.SUBSCRIBER_CREATED, EventType.SUBSCRIBER_SIGNUP_REPEATED)
# The maximum number of spellings of an address that are read.
_MAX_SPELLINGS = 100
_GMAIL = SQL(str(GMAIL_DOMAINS))


def _spellings(dialect: Dialect) -> Node:
    """Selects the subscribers with a Gmail mailbox, oldest first, from an index of these."""
    return (
        Subscriber.select(Subscriber.id)
        .where(
            IN_ACCOUNT
            & Expression(dialect.domain_of(Subscriber.email_key), "IN", _GMAIL)
            & (dialect.mailbox_of(Subscriber.email_key) == param("user"))
        )
        .order_by(Subscriber.id)
        .limit(SQL(str(_MAX_SPELLINGS)))
    )


_SPELLINGS = Statement(_spellings, has_one_plan=True)


class SignupStore:
    """Stores the sign-ups of all accounts."""

    def __init__(
        self, subscribers: SubscriberStore, suppressions: Suppressions, links: Links
    ) -> None:
        self._subscribers = subscribers
        self._suppressions = suppressions
        self._links = links

    def checked(
        self,
        account_id: str,
        new: NewSubscriber,
        tag_paths: Mapping[str, str],
        tx: Transaction,
        *,
        is_form: bool,
    ) -> NewSubscriber:
        """Returns the subscriber. The values of a form, which are text, are converted.

        Raises ValidationError for tags that do not exist, and for values without a field.
        `tag_paths` are the JSON paths of the tags by key. The result does not depend on the
        subscribers of the account.
        """
        _check_tags(account_id, new.tags, tag_paths, tx)
        if is_form and new.values:
            types = custom_fields.types(account_id, tx)
            values = {
                key: typed_value(value, types[key])
                if isinstance(value, str) and key in types
                else value
                for key, value in new.values.items()
            }
            new = new._replace(values=values)
        self._subscribers.check_values(account_id, new.values, tx, suggests=False)
        return new

    def sign_up(self, account_id: str, new: NewSubscriber, tx: Transaction) -> None:
        """Creates a subscriber, unless its mailbox has one or is suppressed.

        All statements before the decision run in each case, so that their time reveals nothing,
        other than the first sign-up of a person whom an import created, which is recorded.
        """
        user = gmail_user(new.email.key)
        ids = _ids_of_mailbox(account_id, new.email, user, tx)
        existing = find_or_none(account_id, ids[0] if ids else new.email, tx)
        keys = {new.email.key, existing.email_key if existing else new.email.key}
        if user is not None:
            keys.add(f"{user}@{GMAIL_DOMAINS[0]}")
        is_suppressed = bool(self._suppressions.suppressed_among(account_id, keys, tx))
        is_recent = has_recent_event(account_id, ids, _EVENT_TYPES, tx.now - REPEAT_TIME, tx)
        found = [existing.id if existing else ""]
        record_added_again(account_id, found, Source.SELF_SERVICE, tx)
        if is_suppressed:
            return
        if existing is None:
            self._subscribers.create(account_id, new, tx, Source.SELF_SERVICE)
        elif existing.status in CONFIRMABLE and not is_recent:
            self._record_repeated(account_id, existing, tx)

    def _record_repeated(self, account_id: str, row: SubscriberRow, tx: Transaction) -> None:
        resource: Resource = row
        if self._links.has_url:
            urls = urls_of(account_id, row, self._links, tx.now, can_confirm=True)
            resource = LinkedSubscriber(row, urls)
        record(account_id, [created(EventType.SUBSCRIBER_SIGNUP_REPEATED, resource)], tx)


def _ids_of_mailbox(
    account_id: str, email: Email, user: str | None, tx: Transaction
) -> Sequence[str]:
    """Returns the IDs of the subscribers with a mailbox, the one with the same address first."""
    ids = list(ids_by_address(account_id, [email.key], tx).values())
    if user is not None:
        ids += [id_ for (id_,) in tx.all(_SPELLINGS, account_id=account_id, user=user)]
    return list(dict.fromkeys(ids))


def _check_tags(
    account_id: str, names: Mapping[str, str], paths: Mapping[str, str], tx: Transaction
) -> None:
    known = tags.by_keys(account_id, names, tx) if names else {}
    unknown = [key for key in names if key not in known]
    if unknown:
        message = "must be the name of an existing tag"
        raise ValidationError([Detail(paths[key], "INVALID_VALUE", message) for key in unknown])
