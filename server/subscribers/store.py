"""Subscribers in the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from peewee import EXCLUDED, ModelSelect, fn

from ..accounts.models import Account
from ..emails import Email
from ..errors import SubscriberAlreadyExists, SubscriberNotFound
from ..paging import Page
from ..storage.statements import Dialect, Statement, param
from ..storage.transaction import Transaction
from ..tags import store as tags
from ..tags.models import Tag
from .models import Subscriber, SubscriberCount, SubscriberTag
from .rules import NewSubscriber, Status


class SubscriberRow(NamedTuple):
    """A subscriber as it is stored; `created_at` in milliseconds, `tags` sorted by name."""

    id: str
    email: str
    email_key: str
    first_name: str
    last_name: str
    status: int
    created_at: int
    tags: tuple[str, ...] = ()


_COLUMNS = (
    Subscriber.id,
    Subscriber.email,
    Subscriber.email_key,
    Subscriber.first_name,
    Subscriber.last_name,
    Subscriber.status,
    Subscriber.created_at,
)
_IN_ACCOUNT = Subscriber.account_id == param("account_id")
_ONE = _IN_ACCOUNT & (Subscriber.id == param("id"))

_LINK_OF_ONE = (SubscriberTag.account_id == param("account_id")) & (
    SubscriberTag.subscriber_id == param("subscriber_id")
)


def _stored(dialect: Dialect) -> ModelSelect[Subscriber]:
    """Selects the columns, and after them the ids of the tags in one text.

    The ids of all tags of a page come with its rows; their names are few and looked
    up apart. That takes half as long as a join, and fits whatever rows are selected.
    """
    links = SubscriberTag.select(dialect.joined(SubscriberTag.tag_id)).where(
        (SubscriberTag.account_id == Subscriber.account_id)
        & (SubscriberTag.subscriber_id == Subscriber.id)
    )
    return Subscriber.select(*_COLUMNS, links)


_FIND = Statement(lambda dialect: _stored(dialect).where(_ONE))
_FIND_BY_EMAIL = Statement(
    lambda dialect: _stored(dialect).where(
        _IN_ACCOUNT & (Subscriber.email_key == param("email_key"))
    )
)
_PAGE = Statement(
    lambda dialect: (
        _stored(dialect)
        .where(_IN_ACCOUNT)
        .order_by(Subscriber.account_id, Subscriber.id)
        .limit(param("limit"))
        .offset(param("offset"))
    )
)
_TAGS = Statement(
    lambda dialect: Tag.select(Tag.id, Tag.name_key, Tag.name).where(
        (Tag.account_id == param("account_id")) & dialect.any_of(Tag.id, "ids")
    )
)
_COUNT = Statement(
    lambda _: SubscriberCount.select(SubscriberCount.total).where(
        SubscriberCount.account_id == param("account_id")
    )
)
_ADD_TO_COUNT = Statement(
    lambda _: SubscriberCount.insert(
        {SubscriberCount.account_id: param("account_id"), SubscriberCount.total: param("change")}
    ).on_conflict(
        conflict_target=[SubscriberCount.account_id],
        update={SubscriberCount.total: SubscriberCount.total + EXCLUDED.total},
    )
)
_TAKEN = Statement(
    lambda _: Subscriber.select(Subscriber.id).where(
        _IN_ACCOUNT & (Subscriber.email_key == param("email_key"))
    )
)
_KNOWN = Statement(
    lambda dialect: Subscriber.select(Subscriber.id).where(
        _IN_ACCOUNT & dialect.any_of(Subscriber.id, "ids")
    )
)
_INSERT = Statement(
    lambda _: Subscriber.insert(
        {
            Subscriber.account_id: param("account_id"),
            **{column: param(column.name) for column in _COLUMNS},
        }
    ).on_conflict_ignore()
)
_UPDATE = Statement(
    lambda _: Subscriber.update(
        {
            Subscriber.email: param("email"),
            Subscriber.email_key: param("email_key"),
            Subscriber.first_name: param("first_name"),
            Subscriber.last_name: param("last_name"),
            Subscriber.status: param("status"),
        }
    ).where(_ONE)
)
_DELETE = Statement(lambda _: Subscriber.delete().where(_ONE))
_INSERT_ALL = Statement(lambda dialect: dialect.insert_all(Subscriber.account_id, _COLUMNS, "rows"))
_ATTACH_ALL = Statement(
    lambda dialect: dialect.insert_all(
        SubscriberTag.account_id, (SubscriberTag.subscriber_id, SubscriberTag.tag_id), "rows"
    )
)
_DETACH_ALL = Statement(lambda _: SubscriberTag.delete().where(_LINK_OF_ONE))


_NEWEST = Statement(
    lambda _: Account.select(
        fn.MAX(Subscriber.select(fn.MAX(Subscriber.id)).where(Subscriber.account_id == Account.id))
    )
)


class Changes(NamedTuple):
    """What an update changes; None keeps what is stored."""

    email: Email | None = None
    first_name: str | None = None
    last_name: str | None = None
    tags: Mapping[str, str] | None = None


def create(account_id: str, new: NewSubscriber, tx: Transaction) -> SubscriberRow:
    """Stores a new subscriber and its tags. Raises SubscriberAlreadyExists."""
    names = (new.first_name, new.last_name)
    row = SubscriberRow(tx.new_id(), *new.email, *names, int(new.status), tx.now)
    if not tx.run(_INSERT, account_id=account_id, **row._asdict()):
        raise SubscriberAlreadyExists
    tx.run(_ADD_TO_COUNT, account_id=account_id, change=1)
    return row._replace(tags=_attach(account_id, [(row.id, new.tags)], tx))


def create_many(account_id: str, rows: Mapping[int, NewSubscriber], tx: Transaction) -> set[int]:
    """Stores those rows whose address is free, and returns the indexes of the others.

    Seven statements at most, however many rows there are.
    """
    if not rows:
        return set()
    ids = dict(zip(rows, tx.new_ids(len(rows)), strict=True))
    now = tx.now
    values = [
        (ids[index], *new.email, new.first_name, new.last_name, new.status, now)
        for index, new in rows.items()
    ]
    inserted = tx.run(_INSERT_ALL, account_id=account_id, rows=values)
    taken: set[int] = set()
    if inserted < len(rows):
        known = {row[0] for row in tx.all(_KNOWN, account_id=account_id, ids=list(ids.values()))}
        taken = {index for index in rows if ids[index] not in known}
    if inserted:
        tx.run(_ADD_TO_COUNT, account_id=account_id, change=inserted)
        tagged = [(ids[index], new.tags) for index, new in rows.items() if index not in taken]
        _attach(account_id, tagged, tx)
    return taken


def _attach(
    account_id: str, wanted: Sequence[tuple[str, Mapping[str, str]]], tx: Transaction
) -> tuple[str, ...]:
    """Puts tags on subscribers that have none, creating the tags that are missing.

    Returns the names of all of them, in the tags' own spelling and sorted.
    """
    names: dict[str, str] = {}
    for _, own in wanted:
        for key, name in own.items():
            names.setdefault(key, name)
    if not names:
        return ()
    found = tags.ensure(account_id, names, tx)
    links = [(subscriber_id, found[key].id) for subscriber_id, own in wanted for key in own]
    tx.run(_ATTACH_ALL, account_id=account_id, rows=links)
    return tuple(found[key].name for key in sorted(found))


def find(account_id: str, subscriber_id: str, tx: Transaction) -> SubscriberRow:
    """Returns one subscriber. Raises SubscriberNotFound."""
    return _only(account_id, tx.one(_FIND, account_id=account_id, id=subscriber_id), tx)


def find_by_email(account_id: str, email: Email, tx: Transaction) -> SubscriberRow:
    """Returns the subscriber with the address. Raises SubscriberNotFound."""
    row = tx.one(_FIND_BY_EMAIL, account_id=account_id, email_key=email.key)
    return _only(account_id, row, tx)


def _only(account_id: str, row: tuple[Any, ...] | None, tx: Transaction) -> SubscriberRow:
    if row is None:
        raise SubscriberNotFound
    return _with_tags(account_id, [row], tx)[0]


def page(account_id: str, page: Page, tx: Transaction) -> tuple[list[SubscriberRow], int]:
    """Returns the subscribers of a page, oldest first, and how many the account has.

    Three statements at most, whatever the page holds.
    """
    rows = tx.all(_PAGE, account_id=account_id, limit=page.limit, offset=page.offset)
    return _with_tags(account_id, rows, tx), count(account_id, tx)


def _with_tags(
    account_id: str, rows: Sequence[tuple[Any, ...]], tx: Transaction
) -> list[SubscriberRow]:
    """Returns stored rows with the names of their tags in place of the ids."""
    names: dict[str | None, tuple[str, ...]] = {row[-1]: () for row in rows}
    ids = {tag_id for joined in names if joined for tag_id in joined.split(",")}
    if ids:
        tags = tx.all(_TAGS, account_id=account_id, ids=list(ids))
        known = {tag_id: (key, name) for tag_id, key, name in tags}
        for joined in filter(None, names):
            own = sorted([known[tag_id] for tag_id in joined.split(",")])
            names[joined] = tuple([name for _, name in own])
    make = SubscriberRow._make
    return [make((*row[:-1], names[row[-1]])) for row in rows]


def count(account_id: str, tx: Transaction) -> int:
    """Returns how many subscribers the account has."""
    row = tx.one(_COUNT, account_id=account_id)
    return int(row[0]) if row else 0


def newest_id_of_any_account(tx: Transaction) -> str | None:
    """Returns the greatest id of all, or None; one seek an account, when the service starts."""
    row = tx.one(_NEWEST)
    return row[0] if row else None


def update(account_id: str, subscriber_id: str, changes: Changes, tx: Transaction) -> SubscriberRow:
    """Changes a subscriber and returns it.

    A different address starts again as UNCONFIRMED; the same one in another
    spelling does not. Raises SubscriberNotFound, or SubscriberAlreadyExists if
    another subscriber has the address.
    """
    before = find(account_id, subscriber_id, tx)
    wanted = {
        "first_name": changes.first_name,
        "last_name": changes.last_name,
        **(_new_address(account_id, before, changes.email, tx) if changes.email else {}),
    }
    row = before._replace(**{name: value for name, value in wanted.items() if value is not None})
    if row != before:
        tx.run(_UPDATE, account_id=account_id, **row._asdict())
    if changes.tags is None:
        return row
    tx.run(_DETACH_ALL, account_id=account_id, subscriber_id=subscriber_id)
    return row._replace(tags=_attach(account_id, [(subscriber_id, changes.tags)], tx))


def _new_address(
    account_id: str, before: SubscriberRow, email: Email, tx: Transaction
) -> dict[str, Any]:
    """Returns what a new address changes. Raises SubscriberAlreadyExists if it is taken."""
    if email.key == before.email_key:
        return {"email": email.given}
    if tx.one(_TAKEN, account_id=account_id, email_key=email.key):
        raise SubscriberAlreadyExists
    status = int(Status.UNCONFIRMED)
    return {"email": email.given, "email_key": email.key, "status": status}


def delete(account_id: str, subscriber_id: str, tx: Transaction) -> None:
    """Deletes a subscriber with its tags. Raises SubscriberNotFound."""
    if not tx.run(_DELETE, account_id=account_id, id=subscriber_id):
        raise SubscriberNotFound
    tx.run(_ADD_TO_COUNT, account_id=account_id, change=-1)
