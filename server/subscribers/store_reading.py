"""Reads subscribers with their tags and custom field values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import orjson
from peewee import SQL, ModelSelect, Node, fn

from ..emails import Email, parse_email
from ..errors import SubscriberNotFound
from ..ids import is_id
from ..storage.statements import Dialect, Statement, param
from ..storage.transaction import Transaction
from ..tags.models import Tag
from .fields import SubscriberRow
from .models import CustomValue, Subscriber, SubscriberCounter, SubscriberTag
from .rules import NO_VALUES

# The ID or the address that names a subscriber in a request.
Reference = str | Email
# A row of `select_rows`: the attributes of SubscriberRow, with tag IDs and values as text.
SelectedRow = tuple[Any, ...]

IN_ACCOUNT = Subscriber.account_id == param("account_id")
ONE = IN_ACCOUNT & (Subscriber.id == param("id"))
_tag_ids_of = itemgetter(SubscriberRow._fields.index("tags"))


def select_rows(dialect: Dialect) -> ModelSelect[Subscriber]:
    """Selects subscribers of the account for `complete`.

    Tag IDs and values are selected with the row, so the number of statements does not depend
    on the number of rows. The names of the tags are read by another statement, because they
    are few and a join takes longer.
    """
    return _select(dialect, _tag_ids(dialect))


def _select(dialect: Dialect, tags: Node) -> ModelSelect[Subscriber]:
    attached = {"tags": tags, "values": _values_json(dialect)}
    return Subscriber.select(
        *[
            attached[name] if name in attached else getattr(Subscriber, name)
            for name in SubscriberRow._fields
        ]
    ).where(IN_ACCOUNT)


def _tag_ids(dialect: Dialect) -> Node:
    return SubscriberTag.select(dialect.joined(SubscriberTag.tag_id)).where(
        (SubscriberTag.account_id == param("account_id"))
        & (SubscriberTag.subscriber_id == Subscriber.id)
    )


def _values_json(dialect: Dialect) -> Node:
    return CustomValue.select(dialect.object_of(CustomValue.key, CustomValue.value)).where(
        (CustomValue.account_id == param("account_id"))
        & (CustomValue.subscriber_id == Subscriber.id)
    )


def _select_without_tags(dialect: Dialect) -> ModelSelect[Subscriber]:
    return _select(dialect, SQL("NULL"))


_FIND = Statement(lambda dialect: _select_without_tags(dialect).where(ONE))
_FIND_BY_EMAIL = Statement(
    lambda dialect: _select_without_tags(dialect).where(Subscriber.email_key == param("email_key"))
)
# One subscriber is read fastest with the names of its tags in a statement of their own.
_TAGS_OF_ONE = Statement(
    lambda _: Tag.select(Tag.name_key, Tag.name).where(
        (Tag.account_id == param("account_id"))
        & Tag.id.in_(
            SubscriberTag.select(SubscriberTag.tag_id).where(
                (SubscriberTag.account_id == param("account_id"))
                & (SubscriberTag.subscriber_id == param("subscriber_id"))
            )
        )
    )
)
_BY_ADDRESS = Statement(
    lambda dialect: Subscriber.select(Subscriber.email_key, Subscriber.id).where(
        IN_ACCOUNT & dialect.any_of(Subscriber.email_key, "email_keys")
    )
)
_TAGS = Statement(
    lambda dialect: Tag.select(Tag.id, Tag.name_key, Tag.name).where(
        (Tag.account_id == param("account_id")) & dialect.any_of(Tag.id, "ids")
    )
)


def _newest(_: Dialect) -> ModelSelect[Subscriber]:
    """Selects the greatest ID of all accounts, from the last bucket of each account.

    Each account is joined with itself only, so that each node of a cluster reads its accounts.
    """
    bucket = SubscriberCounter
    last = (
        bucket.select(bucket.account_id, fn.MAX(bucket.first_id).alias("first_id"))
        .where(bucket.total > SQL("0"))
        .group_by(bucket.account_id)
        .alias("last")
    )
    in_last = (Subscriber.account_id == last.c.account_id) & (Subscriber.id >= last.c.first_id)
    return Subscriber.select(fn.MAX(Subscriber.id)).join(last, on=in_last)


_NEWEST = Statement(_newest)


def check_reference(text: str) -> Reference:
    """Returns the ID or the address. Raises SubscriberNotFound for any other text."""
    reference = text if is_id(text) else parse_email(text)
    if reference is None:
        raise SubscriberNotFound
    return reference


def find(account_id: str, reference: Reference, tx: Transaction) -> SubscriberRow:
    """Returns one subscriber. Raises SubscriberNotFound."""
    if isinstance(reference, Email):
        row = tx.one(_FIND_BY_EMAIL, account_id=account_id, email_key=reference.key)
    else:
        row = tx.one(_FIND, account_id=account_id, id=reference)
    if row is None:
        raise SubscriberNotFound
    subscriber_id, *columns, _, created_at, values = row
    tags = _names(tx.all(_TAGS_OF_ONE, account_id=account_id, subscriber_id=subscriber_id))
    return SubscriberRow._make((subscriber_id, *columns, tags, created_at, _values(values)))


def ids_by_address(account_id: str, email_keys: Iterable[str], tx: Transaction) -> dict[str, str]:
    """Returns the IDs of the subscribers with these addresses, by email key."""
    return dict(tx.all(_BY_ADDRESS, account_id=account_id, email_keys=list(email_keys)))


def complete(account_id: str, rows: Sequence[SelectedRow], tx: Transaction) -> list[SubscriberRow]:
    """Returns the rows of `select_rows` with tag names and parsed values. One statement."""
    names: dict[str | None, tuple[str, ...]] = dict.fromkeys(map(_tag_ids_of, rows), ())
    ids = {tag_id for tag_ids in names if tag_ids for tag_id in tag_ids.split(",")}
    if ids:
        tags = tx.all(_TAGS, account_id=account_id, ids=list(ids))
        by_id = {tag_id: (key, name) for tag_id, key, name in tags}
        for tag_ids in filter(None, names):
            names[tag_ids] = _names([by_id[tag_id] for tag_id in tag_ids.split(",")])
    make = SubscriberRow._make
    return [
        make((*columns, names[tag_ids], created_at, _values(values)))
        for *columns, tag_ids, created_at, values in rows
    ]


def _names(tags: Sequence[tuple[Any, ...]]) -> tuple[str, ...]:
    """Returns the names of tags, given as pairs of key and name, in the order of the keys."""
    return tuple([name for _, name in sorted(tags)]) if tags else ()


def _values(text: str | None) -> Mapping[str, Any]:
    return orjson.loads(text) if text and text != "{}" else NO_VALUES


def newest_id_of_any_account(tx: Transaction) -> str | None:
    """Returns the greatest ID of all accounts, or None. For the start of the service."""
    newest: str | None = tx.greatest(_NEWEST)
    return newest
