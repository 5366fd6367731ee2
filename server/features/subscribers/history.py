"""Builds the entries of a subscriber's history.

CREATED         {"at": 1763695996247, "source": "API", "actor": "...", "status": "CONFIRMED"}
FIELDS_CHANGED  {"firstName": ["Ada", "Eve"], "customFields.city": [null, "Paris"]}
TAGS_CHANGED    {"added": ["vip"], "removed": []}
STATUS_CHANGED  {"from": "UNCONFIRMED", "to": "CONFIRMED", "consentSource": "Phone call"}
SUPPRESSION_LIFTED  {"reason": "Asked to be subscribed again"}

The consent source and the reason are absent if the caller did not state them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

import orjson

from ...values.ids import is_id
from ...values.texts import json_name
from ..custom_fields.rules import as_json
from .fields import PROFILE, Status, SubscriberRow


class Source(StrEnum):
    """The source of a change, with the names of SubscriberHistoryEntry.Source."""

    API = "API"
    IMPORT = "IMPORT"
    # By the person, with a link in a mail or a form.
    SELF_SERVICE = "SELF_SERVICE"
    # The status was reset because the email address changed.
    EMAIL_CHANGED = "EMAIL_CHANGED"


class Actor(NamedTuple):
    """The source of a change, and who made it: the ID of an API key, or an IP address."""

    source: Source = Source.API
    id: str = ""

    @property
    def key_id(self) -> str:
        """The ID of the API key, or an empty string."""
        return self.id if is_id(self.id) else ""

    @property
    def ip(self) -> str:
        """The IP address of the person, or an empty string."""
        return "" if self.key_id else self.id

    @property
    def is_person(self) -> bool:
        return self.source is Source.SELF_SERVICE or bool(self.ip)


API = Actor()
# Converts the values of the fields that the history contains to JSON.
FIELDS: Mapping[str, Callable[[Any], Any]] = {"email": str} | {
    field.name: field.to_json for field in PROFILE.values()
}


class EntryType(StrEnum):
    """The type of an entry, with the names of SubscriberHistoryEntry.Type."""

    CREATED = "CREATED"
    FIELDS_CHANGED = "FIELDS_CHANGED"
    TAGS_CHANGED = "TAGS_CHANGED"
    STATUS_CHANGED = "STATUS_CHANGED"
    SUPPRESSION_LIFTED = "SUPPRESSION_LIFTED"


class Entry(NamedTuple):
    """An entry to store, in the order of the columns; `changes` is JSON."""

    type: EntryType
    source: Source
    actor: str
    changes: str


def origin(status: Status, recorded_at: int, by: Actor) -> str:
    """Returns the entry of a creation, which is stored with the subscriber, as JSON."""
    entry = {"at": recorded_at, "source": by.source, "actor": by.id, "status": status.name}
    return orjson.dumps(entry).decode()


def statuses(before: int, after: int) -> dict[str, str]:
    """Returns the changes of an entry STATUS_CHANGED without a consent source."""
    return {"from": Status(before).name, "to": Status(after).name}


def lifted(by: Actor, reason: str) -> Entry:
    return _entry(EntryType.SUPPRESSION_LIFTED, by, {"reason": reason} if reason else {})


def entries(
    before: SubscriberRow, after: SubscriberRow, by: Actor, consent_source: str = ""
) -> Iterator[Entry]:
    """Yields the entries of a change.

    A status that changes together with the email address was reset by it.
    """
    fields = dict(_changed_fields(before, after))
    if fields:
        yield _entry(EntryType.FIELDS_CHANGED, by, fields)
    if after.tags != before.tags:
        tags = {
            "added": [name for name in after.tags if name not in before.tags],
            "removed": [name for name in before.tags if name not in after.tags],
        }
        yield _entry(EntryType.TAGS_CHANGED, by, tags)
    if after.status != before.status:
        if after.email_key != before.email_key:
            by = by._replace(source=Source.EMAIL_CHANGED)
        changes = statuses(before.status, after.status)
        # After the statuses, see `opted_out_after_bounce`.
        changes |= {"consentSource": consent_source} if consent_source else {}
        yield _entry(EntryType.STATUS_CHANGED, by, changes)


def _changed_fields(before: SubscriberRow, after: SubscriberRow) -> Iterator[tuple[str, Any]]:
    for name, to_json in FIELDS.items():
        values = getattr(before, name), getattr(after, name)
        if values[0] != values[1]:
            yield json_name(name), [None if each is None else to_json(each) for each in values]
    if before.values == after.values:
        return
    for key in sorted({*before.values, *after.values}):
        old, new = before.values.get(key), after.values.get(key)
        if old != new:
            yield f"customFields.{key}", [as_json(old), as_json(new)]


def _entry(entry_type: EntryType, by: Actor, changes: Any) -> Entry:
    return Entry(entry_type, by.source, by.id, orjson.dumps(changes).decode())
