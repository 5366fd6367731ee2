"""What a subscriber may be, in two verbs over one set of rules.

`check_*` raise a ValidationError that names each fault; `validate_rows` looks at the rows
of a bulk or an import one by one and returns of each whether it can be taken.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from ..emails import Email, parse_email, trim
from ..errors import InvalidStatusTransition, invalid
from ..events.rules import EventType
from ..tags.rules import distinct, parse_name
from ..texts import has_control_characters

MAX_NAME_LENGTH = 100
MAX_TAGS = 100
# Characters of a row's email address, or of the name of a field, that are repeated in its result.
MAX_REPEATED = 320


class Status(IntEnum):
    """Where a person stands; the numbers of Subscriber.Status."""

    UNCONFIRMED = 1
    CONFIRMED = 2
    UNSUBSCRIBED = 3
    BOUNCED = 4
    COMPLAINED = 5


class Failure(IntEnum):
    """Why a row is not taken; the numbers of BulkFailure.Reason."""

    DUPLICATE_IN_REQUEST = 1
    ALREADY_EXISTS = 2
    MISSING_EMAIL = 3
    INVALID_EMAIL = 4
    INVALID_FIELD = 5
    INVALID_TAG = 6
    INVALID_ROW = 7
    UNKNOWN_CUSTOM_FIELD = 8
    INVALID_CUSTOM_FIELD = 9
    SUPPRESSED = 10


NO_VALUES: Mapping[str, Any] = {}


class NewSubscriber(NamedTuple):
    """A subscriber that keeps every rule that it can be held to by itself.

    `tags` maps each name's key to its spelling. Whether the account has custom
    fields that take `values` is not looked at here.
    """

    email: Email
    first_name: str
    last_name: str
    status: Status
    tags: dict[str, str]
    values: Mapping[str, Any]


class Fault(Protocol):
    """A part of a row that could not be read; no field means the row as a whole."""

    @property
    def field(self) -> str: ...


class Members(Protocol):
    """The members of a JSON object."""

    def __len__(self) -> int: ...
    def __getitem__(self, key: str, /) -> Any: ...
    def keys(self) -> Iterable[str]: ...


class Row(Protocol):
    """A row of a bulk, as it was sent."""

    @property
    def email(self) -> str: ...
    @property
    def first_name(self) -> str: ...
    @property
    def last_name(self) -> str: ...
    @property
    def is_confirmed(self) -> bool: ...
    @property
    def tags(self) -> Sequence[str]: ...
    @property
    def custom_fields(self) -> Members: ...
    @property
    def faults(self) -> Sequence[Fault]: ...


class RowError(NamedTuple):
    """Why a row cannot be taken, and the field that is at fault, if there is one."""

    failure: Failure
    field: str | None = None


Validated = NewSubscriber | RowError


def initial_status(*, is_confirmed: bool) -> Status:
    """Returns the status of a new subscriber."""
    return Status.CONFIRMED if is_confirmed else Status.UNCONFIRMED


# Where a subscriber may go from each status. Only an administrator undoes a complaint.
_TRANSITIONS = {
    Status.UNCONFIRMED: {
        Status.CONFIRMED,
        Status.UNSUBSCRIBED,
        Status.BOUNCED,
        Status.COMPLAINED,
    },
    Status.CONFIRMED: {Status.UNSUBSCRIBED, Status.BOUNCED, Status.COMPLAINED},
    Status.UNSUBSCRIBED: {Status.UNCONFIRMED, Status.CONFIRMED},
    Status.BOUNCED: {Status.UNCONFIRMED, Status.CONFIRMED},
    Status.COMPLAINED: set[Status](),
}
# Those who do not want mail, or cannot get it. Deleting them must not make them forgotten.
OPTED_OUT = frozenset({Status.UNSUBSCRIBED, Status.BOUNCED, Status.COMPLAINED})
# The statuses by which a person has said no, at whichever address.
_DECIDED = frozenset({Status.UNSUBSCRIBED, Status.COMPLAINED})


# What it is called when a subscriber comes to a status; any other move is an update.
STATUS_EVENT_TYPES = {
    Status.CONFIRMED: EventType.SUBSCRIBER_CONFIRMED,
    Status.UNSUBSCRIBED: EventType.SUBSCRIBER_UNSUBSCRIBED,
    Status.BOUNCED: EventType.SUBSCRIBER_BOUNCED,
    Status.COMPLAINED: EventType.SUBSCRIBER_COMPLAINED,
}


def check_transition(before: Status, after: Status, *, by_admin: bool) -> None:
    """Raises InvalidStatusTransition unless a subscriber may go from one status to the other."""
    if after is before or after in _TRANSITIONS[before]:
        return
    if before is not Status.COMPLAINED:
        raise InvalidStatusTransition(before.name, after.name)
    if not by_admin:
        exception = ", except with a key of scope admin"
        raise InvalidStatusTransition(before.name, after.name, exception=exception)


def status_at_new_address(before: Status) -> Status:
    """Returns the status of a subscriber after a change to a different email address.

    That an address is confirmed, or bounces, is a property of the address. An opt-out or a
    complaint is a decision of the person, and stays.
    """
    return before if before in _DECIDED else Status.UNCONFIRMED


def check_number_of_tags(number: int) -> None:
    """Raises ValidationError for `tags` if no subscriber may have so many."""
    if number > MAX_TAGS:
        raise invalid("tags", "TOO_MANY", f"must leave the subscriber with at most {MAX_TAGS} tags")


class SearchKeys(NamedTuple):
    """What a search by name finds: first with last name, and the last name if it comes second."""

    name: str | None
    last_name: str | None


@lru_cache(4096)
def search_keys(first_name: str, last_name: str) -> SearchKeys:
    """Returns what a search by name finds of a subscriber, or None where there is no name."""
    first, last = search_text(first_name), search_text(last_name)
    if first and last:
        return SearchKeys(f"{first} {last}", last)
    return SearchKeys(first or last or None, None)


def search_text(text: str) -> str:
    """Returns text as a search compares it: no blanks around it, NFC, without regard to case."""
    if text.isascii():
        return text.strip().lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text.strip()).casefold())


def check_email(text: str) -> Email:
    """Returns the address. Raises ValidationError for `email` if it is blank or malformed."""
    email = parse_email(text)
    if email is not None:
        return email
    if not trim(text):
        raise invalid("email", "REQUIRED", "is required")
    raise invalid(
        "email", "INVALID_FORMAT", "must be a single email address, such as name@example.com"
    )


def validate_rows(rows: Iterable[Row]) -> list[Validated]:
    """Returns what each row asks for, or why it cannot be taken; needs no database."""
    tag_sets = TagSets()
    return [_validate_row(row, parse_email(row.email), tag_sets) for row in rows]


class TagSets(dict[tuple[str, ...], "dict[str, str] | None"]):
    """Tags by key for the names that a row has: rows mostly carry the same few."""

    def __missing__(self, names: tuple[str, ...]) -> dict[str, str] | None:
        self[names] = tags = _tags(names)
        return tags


def _validate_row(row: Row, email: Email | None, tag_sets: TagSets) -> Validated:
    """Returns the subscriber that a row asks for, or the first rule that it breaks by itself.

    `email` is what the row's address comes to.
    """
    first_name, last_name = row.first_name, row.last_name
    tags = tag_sets[tuple(row.tags[:])]
    if row.faults:
        fields = [fault.field for fault in row.faults]
        if "" in fields:
            return RowError(Failure.INVALID_ROW)
        return RowError(Failure.INVALID_FIELD, fields[0])
    if email is None:
        failure = Failure.INVALID_EMAIL if trim(row.email) else Failure.MISSING_EMAIL
        return RowError(failure, "email")
    if not _is_name(first_name):
        return RowError(Failure.INVALID_FIELD, "firstName")
    if not _is_name(last_name):
        return RowError(Failure.INVALID_FIELD, "lastName")
    if tags is None:
        return RowError(Failure.INVALID_TAG, "tags")
    status = initial_status(is_confirmed=row.is_confirmed)
    try:
        values = dict(row.custom_fields) if len(row.custom_fields) else NO_VALUES
    except ValueError:  # a member that has no value, not even null
        return RowError(Failure.INVALID_FIELD, "customFields")
    return NewSubscriber(email, first_name, last_name, status, tags, values)


def _is_name(text: str) -> bool:
    return len(text) <= MAX_NAME_LENGTH and not has_control_characters(text, multiline=True)


def _tags(texts: Sequence[str]) -> dict[str, str] | None:
    """Returns the tags by key, or None if there are too many or one has no valid name."""
    names = [name for text in texts if (name := parse_name(text)) is not None]
    return distinct(names) if len(names) == len(texts) <= MAX_TAGS else None
