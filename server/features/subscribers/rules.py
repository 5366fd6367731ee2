"""Validates subscribers, and declares the transitions between their statuses.

`check_*` raise a ValidationError. `validate_rows` validates the rows of a bulk or an import and
returns a subscriber or an error for each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from math import isfinite
from typing import Any, NamedTuple

from ...rpc.errors import Detail, InvalidStatusTransition, ValidationError, invalid
from ...values.emails import Email, parse_email, trim
from ...values.file_addresses import parse_file_email
from ...values.texts import caseless_key, has_control_characters, json_name
from ..events.rules import EventType
from ..suppressions.rules import STRICTNESS, Reason
from ..tags.rules import distinct, parse_name
from .fields import NO_PROFILE, PROFILE, Kind, Status, profile_fields

MAX_TAGS = 100
# The maximum length of an email address or a field name in the result of a row.
MAX_REPEATED = 320
# Tabs, line breaks and what other systems use as such.
_BREAKS = re.compile(r"[\t\n\r\x80-\x9f\u2028\u2029]+")
_TEXTS = profile_fields(Kind.TEXT)
# The years 1 to 9999 in milliseconds, which a Timestamp can contain.
_FIRST_TIME, _LAST_TIME = -62_135_596_800_000, 253_402_300_799_999


class Failure(IntEnum):
    """Why a row was rejected or skipped; the numbers of Row.Reason."""

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
    FILTERED = 11


NO_VALUES: Mapping[str, Any] = {}


class ConsentRecord(NamedTuple):
    """The times and the consent of a subscriber that an import states; None is unknown.

    Times are in milliseconds. A time of creation in the future is replaced by the current time.
    """

    created_at: int | None = None
    status_changed_at: int | None = None
    confirmed_at: int | None = None
    unsubscribed_at: int | None = None
    consent_source: str | None = None
    consent_ip: str | None = None
    consent_at: int | None = None


NO_CONSENT_RECORD = ConsentRecord()


class NewSubscriber(NamedTuple):
    """A subscriber to create, valid apart from what depends on the account.

    `profile` has a value for each field in PROFILE, `tags` are names by key. `values` are not yet
    checked against the custom fields of the account.
    """

    email: Email
    profile: Mapping[str, Any]
    status: Status
    tags: dict[str, str]
    values: Mapping[str, Any]
    consent_record: ConsentRecord = NO_CONSENT_RECORD
    # Whether the row of an import states the status. Otherwise it is the initial one.
    has_status: bool = False
    # The fields of an opt-out that could not be stored, see `_validated`.
    dropped: Sequence[str] = ()

    @property
    def is_opt_out(self) -> bool:
        """Whether the row states an opt-out, which is stored even if other cells cannot be."""
        return self.has_status and self.status in OPTED_OUT


@dataclass(slots=True)
class Row:
    """A row of a bulk or an import as it was sent, with what its cells or members state.

    `custom_fields` is None if a member of the message has no value, not even null. `faults` are
    the fields that could not be parsed; an empty name is the whole row. `status` and
    `consent_record` are what the row of an import states. `is_confirmed` is None if an import can
    decide it, because the row states nothing about it.
    """

    email: str = ""
    profile: dict[str, Any] = field(default_factory=lambda: {**NO_PROFILE})
    is_confirmed: bool | None = None
    tags: Sequence[str] = ()
    custom_fields: Mapping[str, Any] | None = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    line: int = 0
    status: Status | None = None
    consent_record: ConsentRecord = NO_CONSENT_RECORD


class RowError(NamedTuple):
    """Why a row was rejected or skipped, and the field that caused it, if there is one."""

    failure: Failure
    field: str | None = None
    # The opt-out of a row that a filter skips, for the subscriber of another row of its address.
    opt_out: NewSubscriber | None = None


Validated = NewSubscriber | RowError


def subscriber_of(row: Validated) -> NewSubscriber | None:
    """Returns the subscriber or the opt-out that a row states."""
    return row if isinstance(row, NewSubscriber) else row.opt_out


def initial_status(*, is_confirmed: bool) -> Status:
    return Status.CONFIRMED if is_confirmed else Status.UNCONFIRMED


# The status of a subscriber whose address is suppressed for a reason.
STATUS_OF_REASON = {
    Reason.UNSUBSCRIBED: Status.UNSUBSCRIBED,
    Reason.BOUNCED: Status.BOUNCED,
    Reason.COMPLAINED: Status.COMPLAINED,
    Reason.MANUAL: Status.UNSUBSCRIBED,
}
# The strictness of each status: the strictness of its reason, or 0.
_STRICTNESS = dict.fromkeys(Status, 0) | {
    STATUS_OF_REASON[reason]: strictness for reason, strictness in STRICTNESS.items()
}
# The allowed transitions to statuses that are not stricter. A stricter one is always allowed.
# Only a key of scope admin can undo a complaint.
_TRANSITIONS = {
    Status.UNCONFIRMED: {Status.CONFIRMED},
    Status.CONFIRMED: set[Status](),
    Status.UNSUBSCRIBED: {Status.UNCONFIRMED, Status.CONFIRMED},
    Status.BOUNCED: {Status.UNCONFIRMED, Status.CONFIRMED},
    Status.COMPLAINED: set[Status](),
}
# If a subscriber with one of these statuses is deleted, its address is suppressed.
OPTED_OUT = frozenset(status for status, strictness in _STRICTNESS.items() if strictness)
# Decisions of the person, which a change of the address does not reset.
DECIDED = frozenset({Status.UNSUBSCRIBED, Status.COMPLAINED})


# The statuses at which a person who signs up again can confirm.
CONFIRMABLE = frozenset({Status.UNCONFIRMED, Status.UNSUBSCRIBED})

# The event type of a change to each status. A change to any other status is an update.
STATUS_EVENT_TYPES = {
    Status.CONFIRMED: EventType.SUBSCRIBER_CONFIRMED,
    Status.UNSUBSCRIBED: EventType.SUBSCRIBER_UNSUBSCRIBED,
    Status.BOUNCED: EventType.SUBSCRIBER_BOUNCED,
    Status.COMPLAINED: EventType.SUBSCRIBER_COMPLAINED,
}


def check_transition(
    before: Status, after: Status, *, by_admin: bool, after_bounce: bool = False
) -> None:
    """Raises InvalidStatusTransition if the transition is not allowed.

    `after_bounce` is whether the person opted out when the status was BOUNCED. A program that
    resets bounces must not end the opt-out.
    """
    if after is before or is_stricter(after, before):
        return
    if after_bounce:
        exception = ", except with a link, because the person unsubscribed after a bounce"
        raise InvalidStatusTransition(before.name, after.name, exception=exception)
    if after in _TRANSITIONS[before]:
        return
    if before is not Status.COMPLAINED:
        raise InvalidStatusTransition(before.name, after.name)
    if not by_admin:
        exception = ", except with a key of scope admin"
        raise InvalidStatusTransition(before.name, after.name, exception=exception)


def is_stricter(status: Status, than: Status) -> bool:
    """Whether a status is stricter: COMPLAINED, UNSUBSCRIBED, BOUNCED, then the others."""
    return _STRICTNESS[status] > _STRICTNESS[than]


def strictest(first: Status | None, second: Status | None) -> Status | None:
    """Returns the stricter status, or the first one if they are equally strict."""
    if first is None or second is None:
        return first if second is None else second
    return second if is_stricter(second, first) else first


def status_at_new_address(before: Status) -> Status:
    """Returns the status of a subscriber after a change to a different email address.

    A confirmation and a bounce belong to the address and are reset. An opt-out and a complaint
    are decisions of the person and stay.
    """
    return before if before in DECIDED else Status.UNCONFIRMED


def status_times(
    before: Status, after: Status, now: int, stated: ConsentRecord = NO_CONSENT_RECORD
) -> dict[str, int | None]:
    """Returns the times that a change of the status sets, by column.

    A confirmation belongs to the address: it ends when a subscriber is UNCONFIRMED again.
    `stated` can contain the times of an opt-out in another service.
    """
    if after is before:
        return {}
    is_opt_out = after is Status.UNSUBSCRIBED
    changed_at = _first(
        stated.status_changed_at, stated.unsubscribed_at if is_opt_out else None, now
    )
    times: dict[str, int | None] = {"status_changed_at": changed_at}
    if after is Status.UNCONFIRMED:
        times["confirmed_at"] = None
    if after is Status.CONFIRMED:
        times["confirmed_at"] = _first(stated.confirmed_at, changed_at)
    if is_opt_out:
        times["unsubscribed_at"] = _first(stated.unsubscribed_at, changed_at)
    return times


def _first(*times: int | None) -> int | None:
    return next((time for time in times if time is not None), None)


def check_number_of_tags(number: int) -> None:
    """Raises ValidationError for `tags` if there are too many."""
    if number > MAX_TAGS:
        raise invalid("tags", "TOO_MANY", f"must leave the subscriber with at most {MAX_TAGS} tags")


class SearchKeys(NamedTuple):
    """The columns for a search by name: the first and last name, and the last name.

    None replaces an empty key. Lists are ordered by `last_name_key`.
    """

    name_key: str | None
    last_name_key: str | None


@lru_cache(4096)
def search_keys(first_name: str, last_name: str) -> SearchKeys:
    first, last = search_text(first_name), search_text(last_name)
    return SearchKeys(" ".join(filter(None, [first, last])) or None, last or None)


def search_text(text: str) -> str:
    """Returns text as a search compares it: trimmed, NFC, without regard to case."""
    return caseless_key(text.strip())


def _check_text(text: str, max_length: int) -> tuple[str, str] | None:
    if len(text) <= max_length and (
        text.isprintable() or not ("\t" in text or has_control_characters(text))
    ):
        return None
    return "INVALID_CHARACTER", "must not contain control characters or line breaks"


def _check_number(number: float | None, _: int) -> tuple[str, str] | None:
    return (
        None if number is None or isfinite(number) else ("OUT_OF_RANGE", "must be a finite number")
    )


def _check_time(time: int | None, _: int) -> tuple[str, str] | None:
    if time is None or _FIRST_TIME <= time <= _LAST_TIME:
        return None
    return "OUT_OF_RANGE", "must be between the years 1 and 9999"


_CHECKS: Mapping[Any, Callable[[Any, int], tuple[str, str] | None]] = {
    Kind.TEXT: _check_text,
    Kind.NUMBER: _check_number,
    Kind.TIME: _check_time,
}
# Every FLAG is valid.
_CHECKED = [
    (each.name, each.max_length, _CHECKS[each.kind])
    for each in PROFILE.values()
    if each.kind in _CHECKS
]


def check_profile(profile: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns fields of a request. Raises ValidationError for values that are not valid."""
    faults = [
        Detail(json_name(name), *fault)
        for name, max_length, check in _CHECKED
        if name in profile and (fault := check(profile[name], max_length)) is not None
    ]
    if faults:
        raise ValidationError(faults)
    return profile


def on_one_line(name: str) -> str:
    """Returns a name from a file with its tabs and line breaks replaced by spaces."""
    return name if name.isprintable() else _BREAKS.sub(" ", name).strip(" ")


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


def validate_rows(
    rows: Iterable[Row], added_tags: Mapping[str, str] = NO_VALUES, *, of_file: bool = False
) -> list[Validated]:
    """Returns a subscriber or an error for each row. Needs no database.

    `added_tags` are names by key. Addresses in files can be wrapped, and names can have line
    breaks.
    """
    tag_sets, parse = TagSets(added_tags, of_file=of_file), parse_email
    if of_file:
        rows, parse = list(rows), parse_file_email
        for row in rows:
            for name in _TEXTS:
                if not row.profile[name].isprintable():
                    row.profile[name] = on_one_line(row.profile[name])
    return [_validated(row, tag_sets, parse) for row in rows]


class TagSets(dict[tuple[str, ...], "dict[str, str] | None"]):
    """Caches parsed tags by the names in a row, because many rows have the same tags.

    The tags are names by key, or None if they are not valid. `added` are the tags that every row
    gets. The spelling of the row is kept.
    """

    def __init__(self, added: Mapping[str, str] = NO_VALUES, *, of_file: bool = False) -> None:
        super().__init__()
        self._added = added
        self._of_file = of_file

    def __missing__(self, names: tuple[str, ...]) -> dict[str, str] | None:
        tags = _tags([*map(on_one_line, names)] if self._of_file else names)
        if tags is not None and self._added:
            tags = {**self._added, **tags}
        self[names] = tags = None if tags is None or len(tags) > MAX_TAGS else tags
        return tags


def _validated(row: Row, tag_sets: TagSets, parse: Callable[[str], Email | None]) -> Validated:
    """Returns the subscriber of a row, or its first error.

    `parse` parses its address. The fields of an opt-out that cannot be stored are dropped, so that
    it is still stored.
    """
    # None if the row fails with its first error.
    dropped: list[str] | None = [] if row.status in OPTED_OUT else None
    if row.faults:
        if "" in row.faults:
            return RowError(Failure.INVALID_ROW)
        if dropped is None:
            return RowError(Failure.INVALID_FIELD, row.faults[0])
        dropped += row.faults
    email = parse(row.email)
    if email is None:
        failure = Failure.INVALID_EMAIL if trim(row.email) else Failure.MISSING_EMAIL
        return RowError(failure, "email")
    profile, values = row.profile, row.custom_fields
    for name, max_length, check in _CHECKED:
        if check(profile[name], max_length) is not None:
            if dropped is None:
                return RowError(Failure.INVALID_FIELD, json_name(name))
            profile = {**profile, name: NO_PROFILE[name]}
            dropped.append(json_name(name))
    tags = tag_sets[tuple(row.tags)]
    if tags is None:
        if dropped is None:
            return RowError(Failure.INVALID_TAG, "tags")
        dropped.append("tags")
        tags = tag_sets[()] or {}
    if values is None:
        if dropped is None:
            return RowError(Failure.INVALID_FIELD, "customFields")
        values = NO_VALUES
        dropped.append("customFields")
    status = row.status
    return NewSubscriber(
        email,
        profile,
        initial_status(is_confirmed=bool(row.is_confirmed)) if status is None else status,
        tags,
        values,
        row.consent_record,
        status is not None,
        dropped or (),
    )


def _tags(texts: Sequence[str]) -> dict[str, str] | None:
    """Returns tag names by key, or None if there are too many or one is not valid."""
    names = [name for text in texts if (name := parse_name(text)) is not None]
    return distinct(names) if len(names) == len(texts) <= MAX_TAGS else None
