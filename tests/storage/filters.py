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
# Letters with several cases, or whose case is another character of ASCII, and special ones of LIKE
# and GLOB.
NAMES += ["ÁDÁM", "Straße", "STRASSE", "ΟΔΟΣ", "οδος", "İpek", "Kıral", "\u212aim", "\u017fa"]
NAMES += ["[a-]^?"]
SOURCES = ["form", "Form 2", "ÁDÁM's form"]
LOCALS = ["ada", "Ada.L", "bob", "zoë", "x_y", "x%y"]
DOMAINS = ["example.com", "example.org", "bücher.example", "mail.example.com"]
TAGS = ["vip", "VIP 2", "news", "Café", "a*", "straße"]
# The time that `daysAgo` is before.
NOW = 1_706_800_000_000
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
    "plan": (DataType.TEXT, ["pro", "Pro", "prod", "", "x y", "é", "É", "a*", 'q"\\', *LONG]),
    "nick": (DataType.TEXT, NAMES),
    "score": (DataType.NUMBER, [0.0, -1.5, 3.0, 1e21, 0.1, 0.30000000000000004, 2.0**53]),
    "level": (DataType.NUMBER, [0.0, 1.0, 2.0, 3.0]),
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
            ConsentRecord(
                *[_time(rng) for _ in range(4)], consent_source=rng.choice([None, *SOURCES])
            ),
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
        "email", "email.domain", "name", "firstName", "last_name", "consentSource", "status",
        "tags", "tagCount", *_TIME_FIELDS, *[f"customFields.{key}" for key in FIELDS],
    ])  # fmt: skip
    if rng.random() < 0.1:
        return f"{name}:*"
    if name not in ("status", "tags") and rng.random() < 0.1:
        return f"{name} {rng.choice(_operators(name)[:-1])} {rng.choice(_of_type(name))}"
    operator, value = rng.choice(_operators(name)), _random_value(name, rng)
    if operator in ("=", "!=", ":") and rng.random() < 0.4:
        prefix = _random_prefix(name, rng)
        return f"{name} {operator} {prefix}" if prefix else f"{name} {operator} {value}"
    if rng.random() < 0.2:
        values = [value, *(_random_value(name, rng) for _ in range(2))]
        joined = rng.choice([" OR ", " AND ", " ", " OR NOT "])
        return f"{name} {operator} ({joined.join(values)})"
    return f"{name} {operator} {value}"


def _type_of(name: str) -> DataType:
    if name in _TIME_FIELDS:
        return DataType.DATE
    if name == "tagCount":
        return DataType.NUMBER
    return FIELDS.get(name.removeprefix("customFields."), (DataType.TEXT, []))[0]


def _of_type(name: str) -> list[str]:
    """Returns the fields that a field is compared with."""
    names = ["email.domain", "firstName", "lastName", "consentSource", "tagCount", *_TIME_FIELDS]
    names += [f"customFields.{key}" for key in FIELDS]
    return [each for each in names if _type_of(each) is _type_of(name)]


def _operators(name: str) -> list[str]:
    if name == "tags":
        return [":"]
    if name == "status" or _type_of(name) is DataType.BOOLEAN:
        return ["=", "!=", ":"]
    return ["=", "!=", "<", "<=", ">", ">=", ":"]


def _texts(name: str) -> list[str]:
    custom = FIELDS.get(name.removeprefix("customFields."), (DataType.TEXT, []))[1]
    return {
        "email": [f"{local}1@{domain}" for local in LOCALS for domain in DOMAINS],
        "email.domain": DOMAINS,
        "tags": TAGS,
        "name": [f"{first} {last}".strip() for first, last in zip(NAMES, NAMES[5:], strict=False)],
        "firstName": NAMES,
        "last_name": NAMES,
        "consentSource": SOURCES,
    }.get(name, custom)


def _random_value(name: str, rng: Random) -> str:
    """Returns a value of the type of a field."""
    if name == "status":
        return rng.choice(list(Status)).name
    if name == "tagCount":
        return str(rng.randrange(-1, 5))
    data_type = _type_of(name)
    if data_type is DataType.DATE and rng.random() < 0.2:
        return f"daysAgo({rng.randrange(-3, 20)})"
    if name in _TIME_FIELDS:
        return f'"{rng.choice(TIMES)}"'
    value = rng.choice(_texts(name))
    if data_type is DataType.BOOLEAN:
        return str(value).lower()
    if data_type is not DataType.TEXT:
        return f'"{value}"'
    if rng.random() < 0.3 and len(value) > 1:
        # A part of the text, in another case.
        start = rng.randrange(len(value))
        value = value[start : start + rng.randrange(1, 5)].swapcase()
    return f'"{_escaped(value or "a")}"'


def _random_prefix(name: str, rng: Random) -> str:
    if name == "status" or _type_of(name) is not DataType.TEXT:
        return ""
    value = rng.choice(_texts(name))
    return f'"{_escaped(value[: rng.randrange(len(value) + 1)])}*"'


def _escaped(text: str) -> str:
    for character in ("\\", '"', "*"):
        text = text.replace(character, f"\\{character}")
    return text


def matches(tree: Any, row: SubscriberRow) -> bool:
    """Returns whether a subscriber matches a parsed filter at the time `NOW`."""
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


def _value_of(name: str, row: SubscriberRow) -> Any:
    """Returns the value of a field, or None if it has none. Times are in milliseconds."""
    key = name.removeprefix("customFields.")
    if key in FIELDS:
        value = row.values.get(key)
        is_date = FIELDS[key][0] is DataType.DATE
        return parse_timestamp(value) if is_date and value is not None else value
    return {
        "createdAt": row.created_at,
        "updatedAt": row.revision // 1000,
        "statusChangedAt": row.status_changed_at,
        "confirmedAt": row.confirmed_at,
        "unsubscribedAt": row.unsubscribed_at,
        "tagCount": len(row.tags),
        "email": row.email_key,
        "email.domain": row.email_key.partition("@")[2],
        "name": f"{row.first_name} {row.last_name}".strip(" "),
        "firstName": row.first_name,
        "last_name": row.last_name,
        "lastName": row.last_name,
        "consentSource": row.consent_source,
        "status": Status(row.status).name,
    }[name]


def _compare(comparison: Comparison, row: SubscriberRow) -> bool:
    name, value, is_prefix = comparison.field, comparison.value, comparison.is_prefix
    is_present = comparison.operator == ":" and is_prefix and not value
    compare = _ORDER[comparison.operator]
    if name == "tags":
        keys = [caseless_key(tag) for tag in row.tags]
        wanted = caseless_key(value)
        return any(key.startswith(wanted) if is_prefix else key == wanted for key in keys)
    stored = _value_of(name, row)
    if stored is None:
        return False
    if is_present:
        return stored != "" or name.startswith("customFields.")
    if not comparison.is_quoted and value in _of_type(name):
        other = _value_of(value, row)
        if isinstance(stored, str) and other is not None:
            return compare(stored.encode(), other.encode())
        return other is not None and compare(stored, other)
    if name == "status":
        return compare(stored, value)
    match _type_of(name):
        case DataType.NUMBER:
            return compare(stored, float(value))
        case DataType.BOOLEAN:
            return compare(stored, value == "true")
        case DataType.DATE:
            is_function = comparison.function == "daysAgo"
            return compare(stored, _days_ago(value) if is_function else parse_timestamp(value))
    return _compare_text(name, stored, comparison)


def _days_ago(days: str) -> int:
    return NOW - int(days) * 24 * 3600 * 1000


def _compare_text(name: str, stored: str, comparison: Comparison) -> bool:
    value = comparison.value
    if name in ("email", "email.domain"):
        local, at, domain = stored.rpartition("@")
        forms = [stored, f"{local}{at}{domain.encode().decode('idna')}"]
        if comparison.is_prefix:
            if name == "email.domain":
                forms = forms[:1] if value.isascii() else forms[1:]
            return any(form.startswith(value.lower()) for form in forms)
        if comparison.operator == ":":
            return any(_contains(form, value) for form in forms)
        normal = parse_email(value if at else f"a@{value}")
        key = value.lower() if normal is None else normal.key if at else normal.key[2:]
        return _ORDER[comparison.operator](stored.encode(), key.encode())
    if comparison.is_prefix:
        return stored.startswith(value)
    if comparison.operator == ":":
        return _contains(stored, value)
    return _ORDER[comparison.operator](stored.encode(), value.encode())


def _contains(text: str, part: str) -> bool:
    """Compares one character after the other, without regard to case."""
    places = range(len(text) - len(part) + 1)
    return any(all(map(_is_same, text[at : at + len(part)], part)) for at in places)


def _is_same(one: str, other: str) -> bool:
    return one == other or (one.isascii() == other.isascii() and _fold(one) == _fold(other))


def _fold(character: str) -> str:
    """Returns the simple case folding, which is one character."""
    forms = (character.casefold(), character.lower(), character)
    return next(form for form in forms if len(form) == 1)
