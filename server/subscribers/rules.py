"""What a subscriber may be, in two verbs over one set of rules.

`check_*` raise a ValidationError that names each fault; `judge` looks at the
rows of a bulk one by one and says of each whether and why it cannot be taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple, Protocol

from ..emails import Email, parse_email, trim
from ..errors import invalid
from ..tags.rules import distinct, is_name

MAX_NAME_LENGTH = 100
MAX_TAGS = 100


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


class NewSubscriber(NamedTuple):
    """A subscriber that keeps every rule; `tags` maps each name's key to its spelling."""

    email: Email
    first_name: str
    last_name: str
    status: Status
    tags: dict[str, str]


class Fault(Protocol):
    """A part of a row that could not be read; no field means the row as a whole."""

    @property
    def field(self) -> str: ...


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
    def faults(self) -> Sequence[Fault]: ...


class Judged(NamedTuple):
    """The rows that keep the rules, by index, and why the others do not."""

    good: dict[int, NewSubscriber]
    failed: dict[int, Failure]


def initial_status(*, is_confirmed: bool) -> Status:
    """Returns the status of a new subscriber."""
    return Status.CONFIRMED if is_confirmed else Status.UNCONFIRMED


def check_email(text: str) -> Email:
    """Returns the address. Raises ValidationError for `email` if it is blank or malformed."""
    email = parse_email(text)
    if email is not None:
        return email
    if not trim(text):
        raise invalid("email", "REQUIRED", "is required")
    raise invalid("email", "INVALID_FORMAT", "must be one email address, such as name@example.com")


def judge(rows: Iterable[Row]) -> Judged:
    """Looks at each row of a bulk, in order.

    A row is a duplicate if an earlier row has the same address, whether or not
    that one could be taken: the address appears more than once in the request.
    """
    good: dict[int, NewSubscriber] = {}
    failed: dict[int, Failure] = {}
    seen: set[str] = set()
    # The rows of a bulk mostly carry the same few tags.
    tag_sets: dict[tuple[str, ...], dict[str, str] | None] = {}
    for index, row in enumerate(rows):
        email = parse_email(row.email)
        first_name, last_name, names = row.first_name, row.last_name, tuple(row.tags)
        if names not in tag_sets:
            tag_sets[names] = _tags(names)
        tags = tag_sets[names]
        fault = _fault(row, email, first_name, last_name, tags)
        if fault is not None:
            failed[index] = fault
        elif email is not None and tags is not None:
            if email.key in seen:
                failed[index] = Failure.DUPLICATE_IN_REQUEST
            else:
                status = initial_status(is_confirmed=row.is_confirmed)
                good[index] = NewSubscriber(email, first_name, last_name, status, tags)
        if email is not None:
            seen.add(email.key)
    return Judged(good, failed)


def _fault(
    row: Row,
    email: Email | None,
    first_name: str,
    last_name: str,
    tags: dict[str, str] | None,
) -> Failure | None:
    """Returns the first rule that a row breaks by itself, or None."""
    if row.faults:
        whole = any(not fault.field for fault in row.faults)
        return Failure.INVALID_ROW if whole else Failure.INVALID_FIELD
    if email is None:
        return Failure.INVALID_EMAIL if trim(row.email) else Failure.MISSING_EMAIL
    for name in (first_name, last_name):
        if len(name) > MAX_NAME_LENGTH or "\0" in name:
            return Failure.INVALID_FIELD
    return Failure.INVALID_TAG if tags is None else None


def _tags(names: Sequence[str]) -> dict[str, str] | None:
    """Returns the tags by key, or None if there are too many or one has no valid name."""
    trimmed = [name.strip() for name in names]
    if len(trimmed) > MAX_TAGS or not all(is_name(name) for name in trimmed):
        return None
    return distinct(trimmed)
