"""Stores tags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from peewee import SQL, fn

from ...rpc.errors import TagAlreadyExists, TagNotFound
from ...rpc.paging import Page
from ...storage.statements import Statement, delete_first, param
from ...storage.transaction import Transaction
from ...values.clock import iso8601
from ...values.texts import DELETED_KEY, caseless_key
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


_COLUMNS = tuple(getattr(Tag, name) for name in TagRow._fields)
_IN_ACCOUNT = Tag.account_id == param("account_id")
_ONE = _IN_ACCOUNT & (Tag.id == param("id"))
# The links that a transaction removes.
REMOVED_AT_ONCE = 2_000

_FIND = Statement(lambda _: Tag.select(*_COLUMNS).where(_ONE & IS_TAG), has_one_plan=True)
_COUNT = Statement(lambda _: Tag.select(fn.COUNT(Tag.id)).where(_IN_ACCOUNT & IS_TAG))
_PAGE = Statement(
    lambda _: (
        Tag.select(*_COLUMNS)
        .where(_IN_ACCOUNT & IS_TAG)
        .order_by(Tag.account_id, Tag.name_key)
        .limit(param("limit"))
        .offset(param("offset"))
    )
)
# The IDs are selected by the index of names in a subquery. If rows were selected by name, SQLite
# would scan all tags of the account.
_BY_KEYS = Statement(
    lambda dialect: Tag.select(Tag.name_key, Tag.id, Tag.name).where(
        _IN_ACCOUNT
        & dialect.within(
            Tag.id, Tag.select(Tag.id).where(_IN_ACCOUNT & dialect.any_of(Tag.name_key, "keys"))
        )
    ),
    has_one_plan=True,
)
_BY_KEY = Statement(
    lambda _: Tag.select(Tag.id).where(_IN_ACCOUNT & (Tag.name_key == param("name_key"))),
    has_one_plan=True,
)
_NAMES = Statement(
    lambda dialect: Tag.select(Tag.id, Tag.name).where(
        _IN_ACCOUNT & dialect.any_of(Tag.id, "ids") & IS_TAG
    ),
    has_one_plan=True,
)
_INSERT = Statement(
    lambda _: Tag.insert(
        {
            Tag.account_id: param("account_id"),
            Tag.id: param("id"),
            Tag.name: param("name"),
            Tag.name_key: param("name_key"),
            Tag.description: param("description"),
            Tag.created_at: param("created_at"),
        }
    ).on_conflict_ignore(),
    has_one_plan=True,
)
_INSERT_ALL = Statement(
    lambda dialect: dialect.insert_all(
        Tag.account_id, (Tag.id, Tag.name, Tag.name_key, Tag.description, Tag.created_at), "rows"
    ),
    has_one_plan=True,
)
_UPDATE = Statement(
    lambda _: Tag.update(
        {
            Tag.name: param("name"),
            Tag.name_key: param("name_key"),
            Tag.description: param("description"),
        }
    ).where(_ONE)
)
_MARK_DELETED = Statement(
    lambda _: Tag.update({Tag.name_key: param("name_key")}).where(_ONE), has_one_plan=True
)
_DELETE = Statement(lambda _: Tag.delete().where(_ONE), has_one_plan=True)
_DELETED = Statement(
    lambda _: (
        Tag.select(Tag.id)
        .where(_IN_ACCOUNT & IS_DELETED_TAG)
        .order_by(Tag.account_id, Tag.id)
        .limit(SQL("1"))
    ),
    has_one_plan=True,
)
_REMOVE_LINKS = Statement(
    lambda dialect: delete_first(dialect, SubscriberTag.tag_id, SubscriberTag.subscriber_id),
    has_one_plan=True,
)
# A search across accounts.
_WITH_DELETED = Statement(
    lambda _: Tag.select(Tag.account_id).where(IS_DELETED_TAG).limit(param("limit"))
)


def create(account_id: str, name: str, description: str, tx: Transaction) -> TagRow:
    """Stores a new tag. Raises TagAlreadyExists if its name is taken."""
    row = TagRow(tx.new_id(), name, description, tx.now)
    values = {"account_id": account_id, "name_key": caseless_key(name), **row._asdict()}
    if not tx.run(_INSERT, **values):
        raise TagAlreadyExists
    record(account_id, [created(EventType.TAG_CREATED, row)], tx)
    return row


def find(account_id: str, tag_id: str, tx: Transaction) -> TagRow:
    """Returns one tag. Raises TagNotFound."""
    row = tx.one(_FIND, account_id=account_id, id=tag_id)
    if row is None:
        raise TagNotFound
    return TagRow._make(row)


def page(account_id: str, page: Page, tx: Transaction) -> tuple[list[TagRow], int]:
    """Returns the tags of a page in order of name, and the number of tags."""
    rows = tx.all(_PAGE, account_id=account_id, limit=page.limit, offset=page.offset)
    return [TagRow._make(row) for row in rows], count(account_id, tx)


def count(account_id: str, tx: Transaction) -> int:
    """Returns the number of tags of the account."""
    return int(tx.scalar(_COUNT, account_id=account_id))


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
    if tx.scalar(_BY_KEY, account_id=account_id, name_key=key) not in (None, tag_id):
        raise TagAlreadyExists
    tx.run(
        _UPDATE,
        account_id=account_id,
        id=tag_id,
        name=row.name,
        name_key=key,
        description=row.description,
    )
    record(account_id, [Change(EventType.TAG_UPDATED, before, row)], tx)
    return row


def delete(account_id: str, tag_id: str, tx: Transaction) -> None:
    """Deletes a tag and removes it from every subscriber. Raises TagNotFound.

    If many have it, `remove_deleted` removes the rest of the links. They are not read anymore.
    """
    before = find(account_id, tag_id, tx)
    tx.run(_MARK_DELETED, account_id=account_id, id=tag_id, name_key=f"{DELETED_KEY}{tag_id}")
    _remove(account_id, tag_id, tx)
    record(account_id, [deleted(EventType.TAG_DELETED, before)], tx)


def remove_deleted(account_id: str, tx: Transaction) -> int:
    """Removes some links of a deleted tag, and the tag after its last link.

    Returns the number of removed rows, which is 0 if the account has no deleted tag.
    """
    tag_id = tx.scalar(_DELETED, account_id=account_id)
    return 0 if tag_id is None else _remove(account_id, tag_id, tx)


def _remove(account_id: str, tag_id: str, tx: Transaction) -> int:
    removed = tx.run(_REMOVE_LINKS, account_id=account_id, tag_id=tag_id, limit=REMOVED_AT_ONCE)
    if removed < REMOVED_AT_ONCE:
        removed += tx.run(_DELETE, account_id=account_id, id=tag_id)
        # Changes of subscribers with such a link are still counted.
        remove_tag(account_id, tag_id, tx)
    return removed


def ids_of_any_account_with_deleted(limit: int, tx: Transaction) -> list[str]:
    """Returns accounts with deleted tags that subscribers may still have."""
    return [account_id for (account_id,) in tx.all(_WITH_DELETED, limit=limit)]


def ensure(account_id: str, names: Mapping[str, str], tx: Transaction) -> dict[str, TagRef]:
    """Returns tags by name key, and creates missing ones.

    `names` has the name of a new tag by key. One statement if all tags exist, otherwise three
    and those that record events.
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
