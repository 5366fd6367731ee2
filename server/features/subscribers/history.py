"""Builds the entries of a subscriber's history.

An actor is stored as the ID of an API key or session, or as the IP address of a person.

CREATED         {"at": 1763695996247, "source": "API", "actor": "...", "status": "CONFIRMED"}
FIELDS_CHANGED  {"firstName": ["Ada", "Eve"], "customFields.city": [null, "Paris"]}
TAGS_CHANGED    {"added": ["vip"], "removed": []}
STATUS_CHANGED  {"from": "UNCONFIRMED", "to": "CONFIRMED", "consentSource": "Phone call"}
SUPPRESSION_LIFTED  {"reason": "Asked to be subscribed again"}
OPT_OUT_REPEATED    {"from": "CONFIRMED", "to": "UNSUBSCRIBED", "stated": "UNSUBSCRIBED",
                     "revision": 1763695996247000}
SIGNED_UP_AGAIN     {}
ADDED_AGAIN         {}

The consent source and the reason are absent if the caller did not state them. A change by an
operation also has what its undo compares: `tagIds` by name, or the `revision` of a status. Earlier
versions do not know the last three types. An OPT_OUT_REPEATED is stored as the STATUS_CHANGED
before it, with what was stated and the last revision of the account, and the last two as a
FIELDS_CHANGED without fields, by the person or by others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

import orjson

from ...values.actors import Actor, ActorType, person
from ...values.ids import is_id
from ...values.texts import caseless_key, json_name
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
    # An opt-out was stated again while the status was already one that can be undone.
    OPT_OUT_REPEATED = "OPT_OUT_REPEATED"
    # The person signed up, but an import had created the subscriber.
    SIGNED_UP_AGAIN = "SIGNED_UP_AGAIN"
    # A call or another import stated the subscriber, but an import had created it.
    ADDED_AGAIN = "ADDED_AGAIN"


class Entry(NamedTuple):
    """An entry to store, without its actor; `changes` is JSON."""

    type: EntryType
    source: Source
    changes: str


def stored_actor(actor: Actor | None) -> str:
    """Returns an actor as it is stored; an empty text if it is unknown."""
    return (actor.id or actor.ip) if actor else ""


def actor_of(stored: str, source: Source, known: Mapping[str, Actor]) -> Actor | None:
    """Returns a stored actor, given those with names by ID, or None if it is unknown."""
    if is_id(stored):
        return known.get(stored) or Actor(ActorType.API_KEY, stored)
    return person(stored) if stored or source is Source.SELF_SERVICE else None


def origin(
    status: Status, recorded_at: int, source: Source, actor: Actor | None, operation_id: str = ""
) -> str:
    """Returns the entry of a creation, which is stored with the subscriber, as JSON."""
    by = stored_actor(actor)
    entry = {"at": recorded_at, "source": source, "actor": by, "status": status.name}
    if operation_id:
        entry["operationId"] = operation_id
    return orjson.dumps(entry).decode()


def statuses(before: int, after: int) -> dict[str, str]:
    """Returns the changes of an entry STATUS_CHANGED without a consent source."""
    return {"from": Status(before).name, "to": Status(after).name}


def lifted(reason: str) -> Entry:
    changes = {"reason": reason} if reason else {}
    return _entry(EntryType.SUPPRESSION_LIFTED, Source.API, changes)


def added_again(source: Source) -> Entry:
    return _entry(EntryType.FIELDS_CHANGED, source, {})


class ByOperation(NamedTuple):
    """What entries of a change by an operation contain: its revision, and IDs of tags by key."""

    revision: int
    tag_ids: Mapping[str, str]


def changed_tags(before: SubscriberRow, after: SubscriberRow) -> tuple[list[str], list[str]]:
    """Returns the names of the tags that were added and removed."""
    added = [name for name in after.tags if name not in before.tags]
    return added, [name for name in before.tags if name not in after.tags]


def opt_out_repeated(
    last: Mapping[str, str], stated: Status, revision: int, source: Source
) -> Entry:
    """Returns the entry of an opt-out that was stated again, after a change of the status."""
    changes = {"from": last["from"], "to": last["to"], "stated": stated.name, "revision": revision}
    return _entry(EntryType.STATUS_CHANGED, source, changes)


def entries(
    before: SubscriberRow,
    after: SubscriberRow,
    source: Source,
    consent_source: str = "",
    by_operation: ByOperation | None = None,
) -> Iterator[Entry]:
    """Yields the entries of a change.

    A status that changes together with the email address was reset by it.
    """
    fields = dict(_changed_fields(before, after))
    if fields:
        yield _entry(EntryType.FIELDS_CHANGED, source, fields)
    if after.tags != before.tags:
        added, removed = changed_tags(before, after)
        tags: dict[str, Any] = {"added": added, "removed": removed}
        if by_operation is not None:
            ids = by_operation.tag_ids
            keys = {name: caseless_key(name) for name in (*added, *removed)}
            tags["tagIds"] = {name: ids[key] for name, key in keys.items() if key in ids}
        yield _entry(EntryType.TAGS_CHANGED, source, tags)
    if after.status != before.status:
        if after.email_key != before.email_key:
            source = Source.EMAIL_CHANGED
        changes: dict[str, Any] = {**statuses(before.status, after.status)}
        # After the statuses, see `opted_out_after_bounce`.
        changes |= {"consentSource": consent_source} if consent_source else {}
        changes |= {"revision": by_operation.revision} if by_operation is not None else {}
        yield _entry(EntryType.STATUS_CHANGED, source, changes)


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


def _entry(entry_type: EntryType, source: Source, changes: Any) -> Entry:
    return Entry(entry_type, source, orjson.dumps(changes).decode())
