"""Reads subscribers with their tags and custom field values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson
from peewee import JOIN, SQL, ModelSelect, Node, fn

from ...rpc.errors import SubscriberNotFound
from ...storage.statements import Dialect, Statement, param
from ...storage.transaction import Transaction
from ...values.emails import Email, parse_email
from ...values.ids import is_id
from ...values.texts import cached_if_short
from ..custom_fields.models import (
    IS_CONVERTED_FIELD,
    IS_DELETED_FIELD,
    CustomField,
    CustomValue,
)
from ..custom_fields.value_conversion import with_types
from ..tags.models import IS_TAG, SubscriberTag, Tag
from .fields import SubscriberRow
from .models import Subscriber, SubscriberBucket
from .rules import NO_VALUES

# The ID or the address that names a subscriber in a request.
Reference = str | Email
# A row of `select_rows`: the attributes of SubscriberRow, with tags and values as JSON, and the
# stored types of the custom fields that were converted.
SelectedRow = tuple[Any, ...]

_TAGS, _VALUES = map(SubscriberRow._fields.index, ("tags", "values"))
# The position of the types of converted fields.
_CONVERTED = len(SubscriberRow._fields)

IN_ACCOUNT = Subscriber.account_id == param("account_id")
ONE = IN_ACCOUNT & (Subscriber.id == param("id"))


def select_rows(dialect: Dialect, *others: Node) -> ModelSelect[Subscriber]:
    """Selects subscribers of the account for `complete`, and other columns after theirs.

    Tags and values are selected with the row, so that a page is one statement. So are the types
    of custom fields that were converted, which are the same in all rows.
    """
    attached = {"tags": _tag_names(dialect), "values": _values_json(dialect)}
    columns = [
        attached[name] if name in attached else getattr(Subscriber, name)
        for name in SubscriberRow._fields
    ]
    return Subscriber.select(*columns, _converted_types(dialect), *others).where(IN_ACCOUNT)


def _converted_types(dialect: Dialect) -> Node:
    return CustomField.select(dialect.texts_of(CustomField.key, CustomField.data_type)).where(
        (CustomField.account_id == param("account_id")) & IS_CONVERTED_FIELD
    )


def _values_json(dialect: Dialect) -> Node:
    deleted = CustomField.select(CustomField.key).where(
        (CustomField.account_id == param("account_id")) & IS_DELETED_FIELD
    )
    return CustomValue.select(dialect.object_of(CustomValue.key, CustomValue.value)).where(
        (CustomValue.account_id == param("account_id"))
        & (CustomValue.subscriber_id == Subscriber.id)
        & ~dialect.within(CustomValue.key, deleted)
    )


def _tag_names(dialect: Dialect) -> Node:
    """Selects the names of the tags of a subscriber by key, as JSON."""
    of_one = (SubscriberTag.account_id == param("account_id")) & (
        SubscriberTag.subscriber_id == Subscriber.id
    )
    is_tag = (Tag.account_id == param("account_id")) & (Tag.id == SubscriberTag.tag_id)
    # A cross join, because SQLite otherwise reads all tags of the account by their names for each
    # subscriber.
    return (
        SubscriberTag.select(dialect.texts_of(Tag.name_key, Tag.name))
        .join(Tag, JOIN.CROSS)
        .where(of_one & is_tag & IS_TAG)
    )


_FIND = Statement(lambda dialect: select_rows(dialect).where(ONE), has_one_plan=True)
_FIND_BY_EMAIL = Statement(
    lambda dialect: select_rows(dialect).where(Subscriber.email_key == param("email_key")),
    has_one_plan=True,
)
FIND_ALL = Statement(
    lambda dialect: select_rows(dialect).where(dialect.any_of(Subscriber.id, "ids")),
    has_one_plan=True,
)


def _by_email(dialect: Dialect) -> ModelSelect[Subscriber]:
    # Otherwise SQLite does not use the index of the addresses.
    other = Subscriber.alias()
    ids = other.select(other.id).where(
        (other.account_id == param("account_id")) & dialect.any_of(other.email_key, "email_keys")
    )
    return select_rows(dialect).where(dialect.within(Subscriber.id, ids))


_FIND_ALL_BY_EMAIL = Statement(_by_email, has_one_plan=True)
_BY_ADDRESS = Statement(
    lambda dialect: Subscriber.select(Subscriber.email_key, Subscriber.id).where(
        IN_ACCOUNT & dialect.any_of(Subscriber.email_key, "email_keys")
    ),
    has_one_plan=True,
)


def _newest(_: Dialect) -> ModelSelect[Subscriber]:
    """Selects the greatest ID of all accounts, from the last bucket of each account.

    Each account is joined with itself only, so that each node of a cluster reads its accounts.
    """
    bucket = SubscriberBucket
    last = (
        bucket.select(bucket.account_id, fn.MAX(bucket.first_id).alias("first_id"))
        .where(bucket.total > SQL("0"))
        .group_by(bucket.account_id)
        .alias("last")
    )
    in_last = (Subscriber.account_id == last.c.account_id) & (Subscriber.id >= last.c.first_id)
    return Subscriber.select(fn.MAX(Subscriber.id)).join(last, on=in_last)


_NEWEST = Statement(_newest)
_GREATEST = Statement(
    lambda _: Subscriber.select(fn.MAX(Subscriber.id)).where(IN_ACCOUNT), has_one_plan=True
)


def check_reference(text: str) -> Reference:
    """Returns the ID or the address. Raises SubscriberNotFound for any other text."""
    reference = text if is_id(text) else parse_email(text)
    if reference is None:
        raise SubscriberNotFound
    return reference


def find(account_id: str, reference: Reference, tx: Transaction) -> SubscriberRow:
    """Returns one subscriber. Raises SubscriberNotFound. One statement."""
    if isinstance(reference, Email):
        row = tx.one(_FIND_BY_EMAIL, account_id=account_id, email_key=reference.key)
    else:
        row = tx.one(_FIND, account_id=account_id, id=reference)
    if row is None:
        raise SubscriberNotFound
    return complete(row)


def find_each(
    account_id: str, references: Sequence[Reference], tx: Transaction
) -> dict[Reference, SubscriberRow]:
    """Returns the subscribers that exist, by reference. A statement for each reference type."""
    found: dict[Reference, SubscriberRow] = {}
    ids = [each for each in references if isinstance(each, str)]
    if ids:
        for row in tx.all(FIND_ALL, account_id=account_id, ids=ids):
            found[row[0]] = complete(row)
    emails = [each for each in references if isinstance(each, Email)]
    if emails:
        keys = [email.key for email in emails]
        rows = map(complete, tx.all(_FIND_ALL_BY_EMAIL, account_id=account_id, email_keys=keys))
        by_key = {row.email_key: row for row in rows}
        found |= {email: by_key[email.key] for email in emails if email.key in by_key}
    return found


def find_or_none(account_id: str, reference: Reference, tx: Transaction) -> SubscriberRow | None:
    """Returns a subscriber, or None if there is none."""
    try:
        return find(account_id, reference, tx)
    except SubscriberNotFound:
        return None


def ids_by_address(account_id: str, email_keys: Iterable[str], tx: Transaction) -> dict[str, str]:
    """Returns the IDs of the subscribers with these addresses, by email key."""
    return dict(tx.all(_BY_ADDRESS, account_id=account_id, email_keys=list(email_keys)))


def complete(row: SelectedRow) -> SubscriberRow:
    """Returns a row of `select_rows` with parsed tags and values."""
    columns, types = list(row[:_CONVERTED]), row[_CONVERTED]
    columns[_TAGS] = _names(columns[_TAGS]) if columns[_TAGS] else ()
    columns[_VALUES] = _values(columns[_VALUES])
    if types and types != "{}":
        columns[_VALUES] = with_types(columns[_VALUES], _types(types))
    return SubscriberRow._make(columns)


@cached_if_short
def _names(text: str) -> tuple[str, ...]:
    """Returns the names of tags, given as a JSON object by key, in the order of the keys.

    Cached, because many subscribers have the same tags.
    """
    return tuple([name for _, name in sorted(orjson.loads(text).items())])


_types = cached_if_short(orjson.loads)


def _values(text: str | None) -> Mapping[str, Any]:
    return orjson.loads(text) if text and text != "{}" else NO_VALUES


def greatest_id(account_id: str, tx: Transaction) -> str:
    """Returns the greatest ID of the account's subscribers, or an empty text."""
    return tx.scalar(_GREATEST, account_id=account_id) or ""


def newest_id_of_any_account(tx: Transaction) -> str | None:
    """Returns the greatest ID of all accounts, or None. For the start of the service."""
    newest: str | None = tx.greatest(_NEWEST)
    return newest
