"""Finds out whether few subscribers can match the names, addresses and domains in a filter.

The indexes of names contain search keys, which do not distinguish case. They select candidates;
then the names are compared. If many subscribers have the key of a name, a domain, or the prefix of
an address, a scan of all subscribers takes less time than lookups of the candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from peewee import SQL, Select, fn

from ....storage.statements import Dialect, Statement, param
from ....storage.transaction import Transaction
from ..rules import search_text
from .expression import LAST_CHARACTER, Condition, FilterExpression, Kind
from .store_conditions import (
    is_address_prefix,
    is_domain,
    select_candidates,
    select_with_domain,
)
from .tree import And, Or, comparisons, mapped

# The most candidates to look up, a fraction of the subscribers that a scan reads in that time
# (`make bench-scale`).
MAX_CANDIDATES = 20_000
# The maximum number of conditions of a filter that are counted, with one statement each.
MAX_COUNTED = 3


def _count(select: Callable[[Dialect], Any], dialect: Dialect) -> Select:
    candidates = select(dialect).limit(param("limit"))
    return Select([candidates.alias("candidates")], [fn.COUNT(SQL("*"))])


def _candidates(column: str, _dialect: Dialect) -> Any:
    return select_candidates(column, "key", "key_end")


def _with_domain(condition: Condition, dialect: Dialect) -> Any:
    id_, query = select_with_domain(condition, dialect)
    # In order, because PostgreSQL would otherwise read the index of all addresses.
    return query.order_by(id_) if is_domain(condition) else query


_COUNT_FIRST_NAMES, _COUNT_LAST_NAMES, _COUNT_ADDRESSES = [
    Statement(partial(_count, partial(_candidates, column)))
    for column in ("first_name", "last_name", "email_key")
]
_COUNT_DOMAIN, _COUNT_DOMAINS, _COUNT_DOMAINS_IN_UNICODE = [
    Statement(partial(_count, partial(_with_domain, condition)))
    for condition in (
        Condition(Kind.DOMAIN, "=", ("key",), "email_key"),
        Condition(Kind.DOMAIN, "prefix", ("key", "key_end"), "email_key"),
        Condition(Kind.DOMAIN, "prefix", ("key", "key_end"), "email_unicode_key"),
    )
]
_OF_NAMES = {"first_name": _COUNT_FIRST_NAMES, "last_name": _COUNT_LAST_NAMES}


def with_candidates(
    account_id: str, expression: FilterExpression, tx: Transaction
) -> FilterExpression:
    """Returns an expression in which conditions that few subscribers can match are marked.

    Those on names have the kind NAME and the range of their search keys, those on domains have the
    kind RARE_DOMAIN, prefixes of addresses have the kind ADDRESS. Prefixes with a part of the
    domain that many addresses have are compared with both forms of the address. At most
    `MAX_COUNTED` statements.
    """
    replaced: dict[Condition, Condition | Or] = {}
    values = dict(expression.values)
    counted = {
        each: count for each in _ordered(expression.tree) if (count := _count_of(each, values))
    }
    for number, (condition, (statement, key)) in enumerate([*counted.items()][:MAX_COUNTED]):
        keys = {"key": key, "key_end": f"{key}{LAST_CHARACTER}"}
        limit = MAX_CANDIDATES + 1
        has_many = tx.scalar(statement, account_id=account_id, limit=limit, **keys) == limit
        if condition.kind is Kind.EMAIL:
            if has_many:
                forms = ("email_key", "email_unicode_key")
                replaced[condition] = Or(
                    tuple(condition._replace(kind=Kind.COLUMN, column=form) for form in forms)
                )
        elif has_many:
            continue
        elif condition.kind is Kind.DOMAIN:
            replaced[condition] = condition._replace(kind=Kind.RARE_DOMAIN)
        elif is_address_prefix(condition):
            replaced[condition] = condition._replace(kind=Kind.ADDRESS)
        else:
            names = {name: f"filter_{name}{number}" for name in keys}
            values |= {names[name]: value for name, value in keys.items()}
            parameters = (*names.values(), *condition.parameters)
            replaced[condition] = condition._replace(kind=Kind.NAME, parameters=parameters)
    tree = mapped(expression.tree, lambda condition: replaced.get(condition, condition))
    return expression._replace(tree=tree, values=values)


def _ordered(tree: Any) -> list[Condition]:
    """Returns the conditions of a tree, first those that every match fulfills."""
    required = tree.conditions if isinstance(tree, And) else ()
    return [*(each for each in required if isinstance(each, Condition)), *comparisons(tree)]


def _count_of(condition: Condition, values: Mapping[str, Any]) -> tuple[Statement, str] | None:
    """Returns the statement that counts the candidates, and the key or prefix of their keys."""
    first = values[condition.parameters[0]] if condition.parameters else ""
    match condition.kind, condition.operator:
        case Kind.EMAIL, "prefix":
            statement, key = _COUNT_ADDRESSES, first
        case Kind.DOMAIN, "=":
            statement, key = _COUNT_DOMAIN, first
        case Kind.DOMAIN, "prefix":
            in_unicode = condition.column == "email_unicode_key"
            statement = _COUNT_DOMAINS_IN_UNICODE if in_unicode else _COUNT_DOMAINS
            key = first
        case Kind.COLUMN, "prefix" if is_address_prefix(condition):
            statement, key = _COUNT_ADDRESSES, first
        case Kind.COLUMN, "=" if condition.column in _OF_NAMES:
            statement, key = _OF_NAMES[condition.column], search_text(first)
        case Kind.COLUMN, "prefix" if condition.column in _OF_NAMES and first.isascii():
            # A character after the prefix can be combined with its last one.
            statement, key = _OF_NAMES[condition.column], search_text(first[:-1])
        case _:
            return None
    return (statement, key) if key else None
