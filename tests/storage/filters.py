"""Random people and filters, and an evaluator of filters that is independent of SQL."""

from __future__ import annotations

import operator
from collections.abc import Callable
from random import Random
from typing import Any

from rosterd.server.features.custom_fields.rules import DataType
from rosterd.server.features.subscribers.fields import Status, SubscriberRow
from rosterd.server.features.subscribers.history import Source
from rosterd.server.features.subscribers.query.plan import PagePosition
from rosterd.server.features.subscribers.query.syntax import Comparison
from rosterd.server.features.subscribers.query.tree import And, Not, Or
from rosterd.server.features.subscribers.rules import ConsentRecord, NewSubscriber
from rosterd.server.features.tags.rules import distinct
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.emails import Email, parse_email
from rosterd.server.values.texts import caseless_key
from rosterd.server.values.timestamps import parse_timestamp

from .helpers import (
    EVERYONE,
    OURS,
    SUBSCRIBERS,
    field,
    list_subscribers,
    profile,
)

NAMES = ["", "Ada", "ada", "Adam", "Ádám", "李", "A%b_", "O'Neil", 'Q"x', "a*b", "b\\s", "Zoë 🎈"]
LOCALS = ["ada", "Ada.L", "bob", "zoë", "x_y", "x%y"]
DOMAINS = ["example.com", "example.org", "bücher.example", "mail.example.com"]
TAGS = ["vip", "VIP 2", "news", "Café", "a*", "straße"]
TIMES = ["2024-01-31", "2024-01-31T10:00:00Z", "2024-01-31T10:00:00.123Z", "2023-12-01T00:00Z"]
# With other offsets, and with fractions of a millisecond.
OTHER_TIMES = [
    "2024-01-31T01:00:00+02:00",
    "2024-01-31T10:00+23:00",
    "2024-01-31T10:00",
    "2024-01-31T10:00:00.1239Z",
    "2024-01-31T10:00:00.0005+00:00",
]
# Longer than the texts that the index contains.
LONG = ["é" * 62 + "abcdefgh"[:length] for length in (1, 2, 3, 8)]
FIELDS: dict[str, tuple[DataType, list[Any]]] = {
    "plan": (DataType.TEXT, ["pro", "Pro", "prod", "", "x y", "é", "a*", 'q"\\', *LONG]),
    "score": (DataType.NUMBER, [0.0, -1.5, 3.0, 1e21, 0.1, 0.30000000000000004, 2.0**53]),
    "active": (DataType.BOOLEAN, [True, False]),
    "born": (DataType.DATE, [*TIMES, *OTHER_TIMES]),
}
_TIME_FIELDS = ["createdAt", "updatedAt", "statusChangedAt", "confirmedAt", "unsubscribedAt"]
_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    ":": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def create_people(count: int, rng: Random, tx: Transaction) -> list[SubscriberRow]:
    """Stores random subscribers with custom fields, and returns them as stored."""
    return store_people(random_people(count, rng), tx)


def store_people(people: list[NewSubscriber], tx: Transaction) -> list[SubscriberRow]:
    """Stores imported subscribers and the custom fields, and returns them as stored."""
    for key, (data_type, _) in FIELDS.items():
        field(OURS, tx, key, data_type=data_type)
    SUBSCRIBERS.create_many(OURS, dict(enumerate(people)), tx, Source.IMPORT)
    return list_subscribers(OURS, tx, EVERYONE, PagePosition(len(people))).rows


def random_people(count: int, rng: Random) -> list[NewSubscriber]:
    """Returns subscribers with different addresses."""
    people = []
    for number in range(count):
        text = f"{rng.choice(LOCALS)}{number}@{rng.choice(DOMAINS)}"
        email = parse_email(text)
        assert email is not None
        person = NewSubscriber(
            Email(text, email.key),
            profile(rng.choice(NAMES), rng.choice(NAMES)),
            rng.choice(list(Status)),
            distinct(rng.sample(TAGS, rng.randrange(4))),
            {key: rng.choice(of) for key, (_, of) in FIELDS.items() if rng.random() < 0.7},
            ConsentRecord(*[_time(rng) for _ in range(4)]),
        )
        people.append(person)
    return people


def _time(rng: Random) -> int | None:
    return rng.choice([None, *map(parse_timestamp, TIMES)])


def random_filter(rng: Random, depth: int = 3) -> str:
    """Returns the text of a filter."""
    kind = rng.random() if depth else 1.0
    if kind < 0.2:
        return f"{rng.choice(['NOT ', '-'])}({random_filter(rng, depth - 1)})"
    if kind < 0.6:
        joined = rng.choice([" AND ", " OR ", " "])
        return joined.join(f"({random_filter(rng, depth - 1)})" for _ in range(rng.randrange(2, 4)))
    return _random_comparison(rng)


def _random_comparison(rng: Random) -> str:
    name = rng.choice([
        "email", "email.domain", "firstName", "last_name", "status", "tags", *_TIME_FIELDS,
        *[f"customFields.{key}" for key in FIELDS],
    ])  # fmt: skip
    if rng.random() < 0.1:
        return f"{name}:*"
    compared = rng.choice(["=", "!=", ":", "<", "<=", ">", ">="])
    equal = rng.choice(["=", "!=", ":"])
    if name == "status":
        return f"{name} {equal} {rng.choice(list(Status)).name}"
    if name in _TIME_FIELDS:
        return f'{name} {compared} "{rng.choice(TIMES)}"'
    values = {
        "email": [f"{local}1@{domain}" for local in LOCALS for domain in DOMAINS],
        "email.domain": DOMAINS,
        "tags": TAGS,
        "firstName": NAMES,
        "last_name": NAMES,
    }
    data_type, custom = FIELDS.get(name.rpartition(".")[2], (DataType.TEXT, []))
    value = rng.choice(values.get(name, custom))
    if data_type is DataType.BOOLEAN:
        return f"{name} {equal} {str(value).lower()}"
    if data_type is not DataType.TEXT:
        return f'{name} {compared} "{value}"'
    if rng.random() < 0.4:
        prefix = value[: rng.randrange(len(value) + 1)]
        compared = ":" if name == "tags" else equal
        return f'{name} {compared} "{_escaped(prefix)}*"'
    return f'{name} {":" if name == "tags" else compared} "{_escaped(value)}"'


def _escaped(text: str) -> str:
    for character in ("\\", '"', "*"):
        text = text.replace(character, f"\\{character}")
    return text


def matches(tree: Any, row: SubscriberRow) -> bool:
    """Returns whether a subscriber matches a parsed filter."""
    if isinstance(tree, Not):
        return not matches(tree.condition, row)
    if isinstance(tree, And):
        return all(matches(condition, row) for condition in tree.conditions)
    if isinstance(tree, Or):
        return any(matches(condition, row) for condition in tree.conditions)
    assert isinstance(tree, Comparison)
    if tree.operator == "!=":
        return not matches(tree._replace(operator="="), row)
    return _compare(tree, row)


def _compare(comparison: Comparison, row: SubscriberRow) -> bool:
    name, value, is_prefix = comparison.field, comparison.value, comparison.is_prefix
    is_present = comparison.operator == ":" and is_prefix and not value
    compare = _ORDER[comparison.operator]
    local, _, domain = row.email_key.partition("@")
    if name == "tags":
        keys = [caseless_key(tag) for tag in row.tags]
        wanted = caseless_key(value)
        return any(key.startswith(wanted) if is_prefix else key == wanted for key in keys)
    if name == "status":
        return is_present or compare(Status(row.status).name, value)
    if name in _TIME_FIELDS:
        stored = {
            "createdAt": row.created_at,
            "updatedAt": row.revision // 1000,
            "statusChangedAt": row.status_changed_at,
            "confirmedAt": row.confirmed_at,
            "unsubscribedAt": row.unsubscribed_at,
        }[name]
        return stored is not None and (is_present or compare(stored, parse_timestamp(value)))
    key = name.removeprefix("customFields.")
    if key in FIELDS:
        if key not in row.values or is_present:
            return key in row.values
        stored = row.values[key]
        data_type = FIELDS[key][0]
        if data_type is DataType.NUMBER:
            return compare(stored, float(value))
        if data_type is DataType.BOOLEAN:
            return compare(stored, value == "true")
        if data_type is DataType.DATE:
            return compare(parse_timestamp(stored), parse_timestamp(value))
        return _compare_text(stored, comparison)
    if name == "email.domain":
        if is_prefix and not value.isascii():
            return domain.encode().decode("idna").startswith(value.lower())
        normal = parse_email(f"a@{value}")
        key = normal.key.partition("@")[2] if normal and not is_prefix else value.lower()
        return _compare_text(domain, comparison._replace(value=key))
    if name == "email":
        if is_prefix:
            in_unicode = f"{local}@{domain.encode().decode('idna')}"
            start = value.lower()
            return row.email_key.startswith(start) or in_unicode.startswith(start)
        normal = parse_email(value)
        assert normal is not None
        return _compare_text(row.email_key, comparison._replace(value=normal.key))
    text = row.first_name if name == "firstName" else row.last_name
    return text != "" if is_present else _compare_text(text, comparison)


def _compare_text(text: str, comparison: Comparison) -> bool:
    if comparison.is_prefix:
        return text.startswith(comparison.value)
    return _ORDER[comparison.operator](text.encode(), comparison.value.encode())
