"""Reads subscribers with their tags and custom field values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson
from peewee import SQL, Expression, ModelSelect, fn

from ..clock import written
from ..custom_fields.rules import as_json
from ..emails import Email, parse_email
from ..errors import SubscriberNotFound
from ..ids import is_id
from ..storage.statements import Dialect, Statement, param
from ..storage.transaction import Transaction
from ..tags.models import Tag
from .models import CustomValue, Subscriber, SubscriberCounter, SubscriberTag
from .rules import NO_VALUES, Status

# What names a subscriber in a request: its id or its address.
Reference = str | Email


class SubscriberRow(NamedTuple):
    """A subscriber as it is stored.

    `created_at` is in milliseconds, `values` are those of custom fields by key, `tags`
    are sorted by name.
    """

    id: str
    email: str
    email_key: str
    first_name: str
    last_name: str
    status: int
    created_at: int
    values: Mapping[str, Any] = NO_VALUES
    tags: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Returns the subscriber as the API returns it."""
        subscriber = {
            "id": self.id,
            "email": self.email,
            "firstName": self.first_name,
            "lastName": self.last_name,
            "status": Status(self.status).name,
            "tags": list(self.tags),
            "createdAt": written(self.created_at),
        }
        if not self.values:
            return subscriber
        values = {key: as_json(value) for key, value in self.values.items()}
        return {**subscriber, "customFields": values}


COLUMNS = (
    Subscriber.id,
    Subscriber.email,
    Subscriber.email_key,
    Subscriber.first_name,
    Subscriber.last_name,
    Subscriber.status,
    Subscriber.created_at,
)
IN_ACCOUNT = Subscriber.account_id == param("account_id")
ONE = IN_ACCOUNT & (Subscriber.id == param("id"))


def stored(dialect: Dialect) -> ModelSelect[Subscriber]:
    """Selects rows of the account for `complete`: columns, values, the ids of the tags as a text.

    What hangs on a subscriber comes with its row, so that a page costs the same
    number of statements whatever it holds and however it was found. The names of
    tags are few and looked up apart, which takes half as long as a join.
    """
    tags = SubscriberTag.select(dialect.joined(SubscriberTag.tag_id)).where(
        (SubscriberTag.account_id == param("account_id"))
        & (SubscriberTag.subscriber_id == Subscriber.id)
    )
    return Subscriber.select(*COLUMNS, _values_of(dialect), tags)


def _values_of(dialect: Dialect) -> ModelSelect[CustomValue]:
    return CustomValue.select(dialect.object_of(CustomValue.key, CustomValue.value)).where(
        (CustomValue.account_id == param("account_id"))
        & (CustomValue.subscriber_id == Subscriber.id)
    )


def _one(dialect: Dialect, condition: Expression) -> ModelSelect[Subscriber]:
    return Subscriber.select(*COLUMNS, _values_of(dialect)).where(condition)


_FIND = Statement(lambda dialect: _one(dialect, ONE))
_FIND_BY_EMAIL = Statement(
    lambda dialect: _one(dialect, IN_ACCOUNT & (Subscriber.email_key == param("email_key")))
)
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
_TAGS = Statement(
    lambda dialect: Tag.select(Tag.id, Tag.name_key, Tag.name).where(
        (Tag.account_id == param("account_id")) & dialect.any_of(Tag.id, "ids")
    )
)


def _newest(_: Dialect) -> ModelSelect[Subscriber]:
    """Selects the greatest id of all: that of an account is in the last stretch that holds any.

    Each account is joined to itself alone, so every node of a cluster does it for its own.
    """
    bucket = SubscriberCounter
    last = (
        bucket.select(bucket.account_id, fn.MAX(bucket.first_id).alias("first_id"))
        .where(bucket.total > SQL("0"))
        .group_by(bucket.account_id)
        .alias("last")
    )
    in_it = (Subscriber.account_id == last.c.account_id) & (Subscriber.id >= last.c.first_id)
    return Subscriber.select(fn.MAX(Subscriber.id)).join(last, on=in_it)


_NEWEST = Statement(_newest)


def check_reference(text: str) -> Reference:
    """Returns the id or the address that a text is.

    Raises SubscriberNotFound for a text that is neither: it names no subscriber.
    """
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
    tags = tx.all(_TAGS_OF_ONE, account_id=account_id, subscriber_id=row[0])
    return SubscriberRow._make((*row[:-1], _values(row[-1]), _names(tags)))


def complete(
    account_id: str, rows: Sequence[tuple[Any, ...]], tx: Transaction
) -> list[SubscriberRow]:
    """Returns what `stored` selected, with the names of tags for their ids. One statement."""
    names: dict[str | None, tuple[str, ...]] = {row[-1]: () for row in rows}
    ids = {tag_id for joined in names if joined for tag_id in joined.split(",")}
    if ids:
        tags = tx.all(_TAGS, account_id=account_id, ids=list(ids))
        known = {tag_id: (key, name) for tag_id, key, name in tags}
        for joined in filter(None, names):
            names[joined] = _names([known[tag_id] for tag_id in joined.split(",")])
    make = SubscriberRow._make
    return [make((*row[:-2], _values(row[-2]), names[row[-1]])) for row in rows]


def _names(tags: Sequence[tuple[Any, ...]]) -> tuple[str, ...]:
    """Returns the names of tags, given with their keys, in the order of the keys."""
    return tuple([name for _, name in sorted(tags)]) if tags else ()


def _values(text: str | None) -> Mapping[str, Any]:
    return orjson.loads(text) if text and text != "{}" else NO_VALUES


def newest_id_of_any_account(tx: Transaction) -> str | None:
    """Returns the greatest id of all, or None; a block of each account, when the service starts."""
    row = tx.one(_NEWEST)
    return row[0] if row else None
