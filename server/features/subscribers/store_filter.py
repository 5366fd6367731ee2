"""The filters of lists, exports and operations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from .filters.expression import Condition, FilterExpression, Kind
from .filters.tree import And, joined


class Filter(NamedTuple):
    """The filters of a list; None is no filter.

    `tag_key` and `email_key` are compared with the stored keys. `prefix` is the prefix of an
    address as `key_prefix` returns it, and `folded_prefix` that of a name as `search_text`
    returns it. `first_id` is inclusive, `end_id` exclusive. `updated_after` and
    `updated_before` are revisions, both exclusive. `expression` is a filter expression.
    """

    status: int | None = None
    tag_key: str | None = None
    email_key: str | None = None
    prefix: str | None = None
    folded_prefix: str | None = None
    first_id: str | None = None
    end_id: str | None = None
    updated_after: int | None = None
    updated_before: int | None = None
    expression: FilterExpression | None = None


NO_FILTER = Filter()


def with_expression(filters: Filter, expression: FilterExpression) -> Filter:
    """Adds an expression. Conditions that the other filters can express replace those.

    Pages of these filters are read in the order of an index.
    """
    tree, values, _ = expression
    rest = []
    for condition in tree.conditions if isinstance(tree, And) else (tree,):
        added = _as_filter(condition, values, filters)
        if added is None:
            rest.append(condition)
        else:
            filters = filters._replace(**added)
    if not rest:
        return filters
    return filters._replace(expression=FilterExpression(joined(And, rest), values))


def _as_filter(condition: Any, values: Mapping[str, Any], filters: Filter) -> dict[str, Any] | None:
    """Returns the fields of a filter that express a condition, or None."""
    if not isinstance(condition, Condition) or len(condition.parameters) != 1:
        return None
    value = values[condition.parameters[0]]
    match condition.kind, condition.column, condition.operator:
        case Kind.TAG, _, "=" if filters.tag_key is None:
            return {"tag_key": value}
        case Kind.COLUMN, "status", "=" if filters.status is None:
            return {"status": value}
        case Kind.COLUMN, "id", ">=":
            return {"first_id": max(value, filters.first_id or value)}
        case Kind.COLUMN, "id", "<":
            return {"end_id": min(value, filters.end_id or value)}
        case Kind.COLUMN, "revision", ">=":
            after = filters.updated_after
            return {"updated_after": value - 1 if after is None else max(value - 1, after)}
        case Kind.COLUMN, "revision", "<":
            before = filters.updated_before
            return {"updated_before": value if before is None else min(value, before)}
    return None
