"""Stores tags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...rpc.errors import TagAlreadyExists, TagNotFound
from ...storage.resource import LargeDeletion, Resource
from ...storage.statements import Statement
from ...storage.transaction import Transaction
from ...values.clock import iso8601
from ...values.texts import caseless_key
from ..events.rules import Change, EventType, created, deleted
from ..events.store import record
from ..statistics.store import remove_tag
from .models import IS_DELETED_TAG, IS_TAG, SubscriberTag, Tag


class TagRow(NamedTuple):
    """A stored tag; `created_at` is in milliseconds."""

    id: str
    name: str
    description: str
    created_at: int

    def as_json(self) -> dict[str, Any]:
        """Returns the tag as the API returns it."""
        return {
            "id": self.id,
            "name": self.name,
            "description": self.description,
            "createdAt": iso8601(self.created_at),
        }


class TagRef(NamedTuple):
    """The ID of a tag, and its name as stored."""

    id: str
    name: str


_TAGS = Resource(
    TagRow,
    Tag.id,
    TagNotFound,
    order=(Tag.name_key,),
    unique=Tag.name_key,
    hidden=(Tag.name_key,),
    changed=(Tag.name, Tag.name_key, Tag.description),
    among=IS_TAG,
)
# Changes of subscribers that still have a deleted tag are counted until it is removed.
_DELETION = LargeDeletion(
    _TAGS,
    Tag.id,
    Tag.name_key,
    IS_DELETED_TAG,
    value=Tag.id,
    attached=SubscriberTag.tag_id,
    member=SubscriberTag.subscriber_id,
    after=remove_tag,
)
find, page, count = _TAGS.find, _TAGS.page, _TAGS.count
remove_deleted = _DELETION.remove_deleted
ids_of_any_account_with_deleted = _DELETION.ids_of_any_account_with_deleted

# The IDs are selected by the index of names in a subquery. If rows were selected by name, SQLite
# would scan all tags of the account.
_BY_KEYS = Statement(
    lambda dialect: Tag.select(Tag.name_key, Tag.id, Tag.name).where(
        _TAGS.in_account
        & dialect.within(
            Tag.id,
            Tag.select(Tag.id).where(_TAGS.in_account & dialect.any_of(Tag.name_key, "keys")),
        )
    ),
    has_one_plan=True,
)
_NAMES = Statement(
    lambda dialect: Tag.select(Tag.id, Tag.name).where(
        _TAGS.in_account & dialect.any_of(Tag.id, "ids") & IS_TAG
    ),
    has_one_plan=True,
)
_INSERT_ALL = Statement(
    lambda dialect: dialect.insert_all(
        Tag.account_id, (Tag.id, Tag.name, Tag.name_key, Tag.description, Tag.created_at), "rows"
    ),
    has_one_plan=True,
)


def create(account_id: str, name: str, description: str, tx: Transaction) -> TagRow:
    """Stores a new tag. Raises TagAlreadyExists if its name is taken."""
    row = TagRow(tx.new_id(), name, description, tx.now)
    if not _TAGS.insert(account_id, row, tx, name_key=caseless_key(name)):
        raise TagAlreadyExists
    record(account_id, [created(EventType.TAG_CREATED, row)], tx)
    return row


def names_of(account_id: str, ids: Sequence[str], tx: Transaction) -> dict[str, str]:
    """Returns the names of tags by ID."""
    return dict(tx.all(_NAMES, account_id=account_id, ids=ids)) if ids else {}


def update(account_id: str, tag_id: str, changes: Mapping[str, Any], tx: Transaction) -> TagRow:
    """Changes a tag and returns it.

    Raises TagNotFound, or TagAlreadyExists if another tag has the name.
    """
    before = find(account_id, tag_id, tx)
    row = before._replace(**changes)
    if row == before:
        return before
    key = caseless_key(row.name)
    if _TAGS.is_taken(account_id, tag_id, tx, name_key=key):
        raise TagAlreadyExists
    _TAGS.update(account_id, row, tx, name_key=key)
    record(account_id, [Change(EventType.TAG_UPDATED, before, row)], tx)
    return row


def delete(account_id: str, tag_id: str, tx: Transaction) -> None:
    """Deletes a tag and removes it from every subscriber. Raises TagNotFound.

    If many have it, `remove_deleted` removes the rest of the links. They are not read anymore.
    """
    before = find(account_id, tag_id, tx)
    _DELETION.delete(account_id, tag_id, tag_id, tx)
    record(account_id, [deleted(EventType.TAG_DELETED, before)], tx)


def ensure(account_id: str, names: Mapping[str, str], tx: Transaction) -> dict[str, TagRef]:
    """Returns tags by name key, and creates missing ones.

    `names` has the name of a new tag by key. One statement if all tags exist, otherwise three, not
    counting the statements that record events.
    """
    if not names:
        return {}
    existing = by_keys(account_id, names, tx)
    missing = [key for key in names if key not in existing]
    if not missing:
        return existing
    new = {key: TagRow(tx.new_id(), names[key], "", tx.now) for key in missing}
    rows = [(row.id, row.name, key, row.description, row.created_at) for key, row in new.items()]
    tx.run(_INSERT_ALL, account_id=account_id, rows=rows)
    record(account_id, [created(EventType.TAG_CREATED, row) for row in new.values()], tx)
    return by_keys(account_id, names, tx)


def by_keys(account_id: str, names: Mapping[str, str], tx: Transaction) -> dict[str, TagRef]:
    rows = tx.all(_BY_KEYS, account_id=account_id, keys=list(names))
    return {key: TagRef(tag_id, name) for key, tag_id, name in rows}
