"""The tree of conditions that a list, an export or an operation selects subscribers with.

Every part of a request is a condition in one tree: the comparisons of a filter expression, and the
parameters such as `status`, `tag`, `q` and `createdAfter`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, TypeGuard


class Kind(StrEnum):
    """The column or table that a condition reads, and how it is compared."""

    EMAIL = "email"
    # A prefix that few addresses have, see `plan.py`.
    ADDRESS = "address"
    DOMAIN = "domain"
    # A domain, or a prefix of domains, that few addresses have.
    RARE_DOMAIN = "rare domain"
    COLUMN = "column"
    # The first two values are a range of search keys.
    NAME = "name"
    TAG = "tag"
    # The first value is the key of the field.
    TEXT_VALUE = "text value"
    LONG_TEXT_VALUE = "long text value"
    NUMBER_VALUE = "number value"
    BOOLEAN_VALUE = "boolean value"
    DATE_VALUE = "date value"
    # The number of tags.
    TAG_COUNT = "tag count"
    # Two fields. The values are the keys of those that are custom.
    FIELDS = "fields"
    # The same with one or two custom fields.
    CUSTOM_FIELDS = "custom fields"
    # The start and the end of a range of addresses, and of a range of search keys of names.
    SEARCH = "search"
    # After the key of an order and an ID in the order of both.
    POSITION = "position"


class Condition(NamedTuple):
    """A condition on a subscriber.

    `operator` is a comparison of SQL, "prefix", "contains", "present" or, for null columns,
    "absent". The values of a prefix are the start and the end of a range, and the value of
    "contains" is the result of `fold_case`. `column` is set for the kinds COLUMN, POSITION, NAME,
    ADDRESS, DOMAIN and RARE_DOMAIN, and has two names for FIELDS and CUSTOM_FIELDS.
    """

    kind: Kind
    operator: str
    values: tuple[Any, ...] = ()
    column: str = ""


@dataclass(frozen=True, slots=True)
class Not:
    """A negated condition. Unlike tuples, conditions of different classes are not equal."""

    condition: Any


@dataclass(frozen=True, slots=True)
class And:
    """Conditions of which all must be true."""

    conditions: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Conditions of which one must be true."""

    conditions: tuple[Any, ...]


# Appended to a prefix, it gives the upper bound of all texts with that prefix.
LAST_CHARACTER = "\U0010ffff"
# Matches all subscribers.
EVERYONE = And(())
# The same as a condition, which NOT can precede.
ANYONE = Condition(Kind.COLUMN, "present", column="id")
# Which of two bounds of a column is the closer one, by operator.
_CLOSER: dict[str, Callable[..., Any]] = {">=": max, "<": min}


def joined(kind: type[And | Or], conditions: Iterable[Any]) -> Any:
    """Returns one condition, or all of them without nesting."""
    flat: list[Any] = []
    for condition in conditions:
        flat.extend(condition.conditions if isinstance(condition, kind) else [condition])
    return flat[0] if len(flat) == 1 else kind(tuple(flat))


def required(tree: Any) -> tuple[Any, ...]:
    """Returns conditions of a tree that every match fulfills."""
    return tree.conditions if isinstance(tree, And) else (tree,)


def comparisons(tree: Any) -> Iterator[Any]:
    """Yields the comparisons of a parsed filter, or the conditions of a tree, in their order."""
    if isinstance(tree, Not):
        yield from comparisons(tree.condition)
    elif isinstance(tree, (And, Or)):
        for condition in tree.conditions:
            yield from comparisons(condition)
    else:
        yield tree


def mapped(tree: Any, convert: Callable[[Any], Any]) -> Any:
    """Returns the tree with each comparison replaced by what `convert` returns for it.

    A comparison can be replaced by several conditions, which are not nested in others of the kind.
    """
    if isinstance(tree, Not):
        return Not(mapped(tree.condition, convert))
    if isinstance(tree, (And, Or)):
        return joined(type(tree), [mapped(condition, convert) for condition in tree.conditions])
    return convert(tree)


def range_of(prefix: str) -> tuple[str, str]:
    """Returns the start and the end of the texts with a prefix."""
    return prefix, f"{prefix}{LAST_CHARACTER}"


def is_true(tree: Any, is_met: Callable[[Any], bool]) -> bool:
    """Evaluates a tree, given a function that evaluates a comparison."""
    if isinstance(tree, Not):
        return not is_true(tree.condition, is_met)
    if isinstance(tree, And):
        return all(is_true(condition, is_met) for condition in tree.conditions)
    if isinstance(tree, Or):
        return any(is_true(condition, is_met) for condition in tree.conditions)
    return is_met(tree)


def within(tree: Any, operator: str, bound: str) -> Any:
    """Returns a tree with a bound of IDs."""
    return joined(And, [tree, Condition(Kind.COLUMN, operator, (bound,), "id")])


def with_closest_bounds(tree: Any) -> Any:
    """Returns a tree with the closest bounds of IDs and revisions only.

    With several, an index would be entered at one and scanned up to another.
    """
    parts: dict[Any, Any] = {}
    for part in required(tree):
        key = bound_key(part)
        if key in parts and is_bound(part):
            (value,), (other,) = part.values, parts[key].values
            part = part._replace(values=(_CLOSER[part.operator](value, other),))
        parts[key] = part
    return joined(And, parts.values())


def bound_key(part: Any) -> Any:
    """Returns a key that bounds of one column and operator share, of which one is kept."""
    return part._replace(values=()) if is_bound(part) else part


def is_condition(tree: Any, *kinds: Kind) -> TypeGuard[Condition]:
    """Whether a tree is one condition, of one of the kinds if any are given."""
    return isinstance(tree, Condition) and (not kinds or tree.kind in kinds)


def is_bound(tree: Any) -> bool:
    """Whether a condition bounds the IDs or the revisions, which are in the order of an index."""
    is_of_column = is_condition(tree, Kind.COLUMN) and bool(tree.values)
    return is_of_column and tree.column in ("id", "revision")


def is_bound_of_ids(tree: Any) -> bool:
    return is_bound(tree) and tree.column == "id"


def is_status(tree: Any) -> bool:
    return is_condition(tree) and tree.column == "status"


def is_tag(tree: Any) -> bool:
    """Whether a condition names one tag."""
    return is_condition(tree, Kind.TAG) and tree.operator == "="


def is_search(tree: Any) -> bool:
    return is_condition(tree, Kind.SEARCH)


def is_address_prefix(tree: Any) -> bool:
    """Whether a condition is a prefix that any number of addresses can have."""
    is_key = is_condition(tree, Kind.COLUMN) and tree.column == "email_key"
    return is_key and tree.operator == "prefix"


def is_domain(tree: Any) -> bool:
    """Whether a condition is a whole domain, whose index has the subscribers in order of ID."""
    return is_condition(tree, Kind.DOMAIN) and tree.operator == "="


def is_address(tree: Any) -> bool:
    """Whether a condition selects few addresses in their index."""
    is_email = is_condition(tree, Kind.EMAIL) and tree.operator in ("=", "prefix")
    return is_email or is_condition(tree, Kind.ADDRESS)


def selects_few(tree: Any) -> bool:
    """Whether few subscribers fulfill a condition, which their index selects."""
    return is_address(tree) or is_condition(tree, Kind.NAME, Kind.RARE_DOMAIN)


def finds_few(tree: Any) -> bool:
    """Whether one of the conditions that every match fulfills selects few subscribers."""
    return any(map(selects_few, required(tree)))
