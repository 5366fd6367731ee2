"""Finds out whether few subscribers can match the names, addresses and domains in a filter.

The indexes of names contain search keys, which do not distinguish case. They select candidates;
then the names are compared. If many subscribers have the key of a name, a domain, or the prefix of
an address, a scan of all subscribers takes less time than lookups of the candidates.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from peewee import SQL, Select, fn

from ...storage.statements import Dialect, Statement, param
from ...storage.transaction import Transaction
from ..rules import search_text
from .expression import LAST_CHARACTER, Condition, FilterExpression, Kind
from .store_conditions import is_address_prefix, select_candidates
from .tree import Or, comparisons, mapped

# The most candidates to look up, a fraction of the subscribers that a scan reads in that time
# (`make bench-scale`).
MAX_CANDIDATES = 20_000
# The maximum number of conditions of a filter that are counted, with one statement each.
MAX_COUNTED = 3


def _count(column: str, dialect: Dialect) -> Select:
    candidates = select_candidates(column, "key", "key_end", dialect).limit(param("limit"))
    return Select([candidates.alias("candidates")], [fn.COUNT(SQL("*"))])


_COUNT_FIRST_NAMES = Statement(partial(_count, "first_name"))
_COUNT_LAST_NAMES = Statement(partial(_count, "last_name"))
_COUNT_ADDRESSES = Statement(partial(_count, "email_key"))
_COUNT_DOMAINS = Statement(partial(_count, "domain"))
_COUNTS = {
    "first_name": _COUNT_FIRST_NAMES,
    "last_name": _COUNT_LAST_NAMES,
    "email_key": _COUNT_ADDRESSES,
    "domain": _COUNT_DOMAINS,
}
_COLUMNS = {Kind.EMAIL: "email_key", Kind.DOMAIN: "domain"}
# The kinds of conditions that few subscribers can match, and need no search key.
_RARE = {Kind.COLUMN: Kind.ADDRESS, Kind.DOMAIN: Kind.RARE_DOMAIN}


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
    counted = {each: key for each in comparisons(expression.tree) if (key := _key(each, values))}
    for number, (condition, key) in enumerate([*counted.items()][:MAX_COUNTED]):
        keys = {"key": key, "key_end": f"{key}{LAST_CHARACTER}"}
        statement, limit = _COUNTS[_column(condition)], MAX_CANDIDATES + 1
        has_many = tx.scalar(statement, account_id=account_id, limit=limit, **keys) == limit
        if condition.kind is Kind.EMAIL:
            if has_many:
                forms = ("email_key", "email_unicode_key")
                replaced[condition] = Or(
                    tuple(condition._replace(kind=Kind.COLUMN, column=form) for form in forms)
                )
            continue
        if has_many:
            continue
        if _has_exact_index(condition):
            replaced[condition] = condition._replace(kind=_RARE[condition.kind])
            continue
        names = {name: f"filter_{name}{number}" for name in keys}
        values |= {names[name]: value for name, value in keys.items()}
        parameters = (*names.values(), *condition.parameters)
        replaced[condition] = condition._replace(kind=Kind.NAME, parameters=parameters)
    tree = mapped(expression.tree, lambda condition: replaced.get(condition, condition))
    return expression._replace(tree=tree, values=values)


def _column(condition: Condition) -> str:
    return condition.column or _COLUMNS.get(condition.kind, "")


def _has_exact_index(condition: Condition) -> bool:
    """Whether an index contains what is compared, instead of search keys."""
    return condition.kind is Kind.DOMAIN or is_address_prefix(condition)


def _key(condition: Condition, values: Mapping[str, Any]) -> str:
    """Returns a prefix of the keys of the candidates in their index, or "" if there is none."""
    first = values[condition.parameters[0]] if condition.parameters else ""
    if condition.kind is Kind.EMAIL:
        return str(first) if condition.operator == "prefix" else ""
    if _column(condition) not in _COUNTS:
        return ""
    match condition.operator:
        case "=" | "prefix" if _has_exact_index(condition):
            return str(first)
        case "=":
            return search_text(first)
        case "prefix" if first.isascii():
            # A character after the prefix can be combined with its last one.
            return search_text(first[:-1])
    return ""
