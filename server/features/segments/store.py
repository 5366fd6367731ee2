"""Stores segments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import orjson

from ...rpc.errors import (
    SegmentAlreadyExists,
    SegmentLimitReached,
    SegmentNotFound,
    SegmentWithoutFilter,
    UsedBySegments,
    ValidationError,
)
from ...rpc.paging import Page
from ...rpc.uses import Use, UsesOf
from ...storage.resource import Resource
from ...storage.statements import Statement
from ...storage.transaction import Transaction
from ...values.texts import caseless_key
from ..custom_fields.rules import DataType
from ..custom_fields.store import types as custom_field_types
from ..subscribers.fields import SubscriberRow
from ..subscribers.query.conditions import conditions_of
from ..subscribers.query.evaluation import matches_stored
from ..subscribers.query.references import Uses, uses_of, with_renamed_tag
from ..subscribers.query.syntax import parse
from .models import Segment

MAX_SEGMENTS = 500


class SegmentRow(NamedTuple):
    """A stored segment; `uses` is JSON of `Uses`. Timestamps are in milliseconds."""

    id: str
    name: str
    expression: str
    uses: str
    description: str
    created_at: int
    updated_at: int


_SEGMENTS = Resource(
    SegmentRow,
    Segment.id,
    SegmentNotFound,
    order=(Segment.name_key,),
    unique=Segment.name_key,
    hidden=(Segment.name_key,),
    changed=(
        Segment.name,
        Segment.name_key,
        Segment.expression,
        Segment.uses,
        Segment.description,
        Segment.updated_at,
    ),
)
find, page, delete = _SEGMENTS.find, _SEGMENTS.page, _SEGMENTS.delete

_ALL = Statement(
    lambda _: (
        Segment.select(*_SEGMENTS.columns)
        .where(_SEGMENTS.in_account)
        .order_by(Segment.account_id, Segment.name_key)
    )
)
_USES = Statement(
    lambda _: (
        Segment.select(Segment.id, Segment.name, Segment.uses)
        .where(_SEGMENTS.in_account)
        .order_by(Segment.account_id, Segment.name_key)
    )
)


def create(
    account_id: str, name: str, text: str, tree: Any, description: str, tx: Transaction
) -> SegmentRow:
    """Stores a new segment with the filter `text`, which was parsed to `tree`.

    Raises SegmentAlreadyExists if its name is taken, or SegmentLimitReached.
    """
    uses = _json(uses_of(tree))
    row = SegmentRow(tx.new_id(), name, text, uses, description, tx.now, tx.now)
    if not _SEGMENTS.insert(account_id, row, tx, name_key=caseless_key(name)):
        raise SegmentAlreadyExists
    if _SEGMENTS.count(account_id, tx) > MAX_SEGMENTS:
        raise SegmentLimitReached(MAX_SEGMENTS)
    return row


def update(
    account_id: str, segment_id: str, changes: Mapping[str, Any], tree: Any, tx: Transaction
) -> SegmentRow:
    """Changes a segment and returns it. `tree` is the parsed filter of the changes, if any.

    Raises SegmentNotFound, or SegmentAlreadyExists if another segment has the name.
    """
    before = find(account_id, segment_id, tx)
    row = before._replace(**changes)
    if tree is not None:
        row = row._replace(uses=_json(uses_of(tree)))
    if row == before:
        return before
    key = caseless_key(row.name)
    if _SEGMENTS.is_taken(account_id, segment_id, tx, name_key=key):
        raise SegmentAlreadyExists
    return _store(account_id, row, tx)


def _store(account_id: str, row: SegmentRow, tx: Transaction) -> SegmentRow:
    """Stores a changed segment and returns it."""
    row = row._replace(updated_at=tx.now)
    _SEGMENTS.update(account_id, row, tx, name_key=caseless_key(row.name))
    return row


def page_matching(
    account_id: str, subscriber: SubscriberRow, page: Page, tx: Transaction
) -> tuple[list[SegmentRow], int, Page | None]:
    """Returns a page of the segments that a subscriber matches, their number, and the next page.

    Two statements.
    """
    types = custom_field_types(account_id, tx)
    found = [each for each in _all(account_id, tx) if _matches(each, subscriber, types, tx.now)]
    rest = found[page.offset :]
    if page.token is not None:
        rest = [segment for segment in found if caseless_key(segment.name) > page.token.after]
    rows = rest[: page.limit]
    more = len(rest) > page.limit
    return rows, len(found), page.following(caseless_key(rows[-1].name)) if more else None


def _matches(
    segment: SegmentRow, subscriber: SubscriberRow, types: Mapping[str, int], now: int
) -> bool:
    if not segment.expression:
        return False
    try:
        tree = conditions_of(parse(segment.expression), types, now)
    except ValidationError:  # A custom field was deleted and created again with another type.
        return False
    return matches_stored(tree, subscriber)


def _all(account_id: str, tx: Transaction) -> list[SegmentRow]:
    return [SegmentRow._make(row) for row in tx.all(_ALL, account_id=account_id)]


class SegmentFilters:
    """The filters of segments, for the services of what they name and select."""

    def filter_of(self, account_id: str, segment_id: str, tx: Transaction) -> str:
        """Returns the filter of a segment. Raises SegmentNotFound or SegmentWithoutFilter."""
        row = find(account_id, segment_id, tx)
        if not row.expression:
            raise SegmentWithoutFilter
        return row.expression

    def tag_uses(self, account_id: str, tx: Transaction) -> UsesOf:
        """Returns a function from the name of a tag to the segments that name it."""
        return _uses_of(account_id, lambda name: Uses([caseless_key(name)], []), tx)

    def custom_field_uses(self, account_id: str, tx: Transaction) -> UsesOf:
        """Returns a function from the key of a custom field to the segments that name it."""
        return _uses_of(account_id, lambda key: Uses([], [key]), tx)

    def rename_tag(self, account_id: str, before: str, name: str, tx: Transaction) -> None:
        """Writes the new name of a tag into all filters that name it."""
        key = caseless_key(before)
        for segment in _naming(account_id, Uses([key], []), tx):
            text = with_renamed_tag(segment.expression, key, name)
            _store_filter(account_id, segment, text, tx)

    def change_custom_field_type(
        self, account_id: str, key: str, data_type: DataType, tx: Transaction
    ) -> None:
        """Raises UsedBySegments if a filter that names a custom field is not valid with a type.

        The other filters compare with values of that type from then on.
        """
        types = custom_field_types(account_id, tx)
        new_types = {**types, key: data_type}
        invalid = [
            (segment.id, segment.name)
            for segment in _naming(account_id, Uses([], [key]), tx)
            if _is_valid(segment, types, tx.now) and not _is_valid(segment, new_types, tx.now)
        ]
        if invalid:
            message = (
                f"Filters of segments are not valid with the type {data_type.name}. Remove the"
                " field from them first, and add it again after the change."
            )
            raise UsedBySegments(invalid, "dataType", message)

    def release_tag(self, account_id: str, name: str, tx: Transaction, *, force: bool) -> None:
        """Clears all filters that name a tag. Without `force`, raises UsedBySegments."""
        _release(account_id, Uses([caseless_key(name)], []), tx, force=force)

    def release_custom_field(
        self, account_id: str, key: str, tx: Transaction, *, force: bool
    ) -> None:
        """Clears all filters that name a custom field. Without `force`, raises UsedBySegments."""
        _release(account_id, Uses([], [key]), tx, force=force)


def _is_valid(segment: SegmentRow, types: Mapping[str, int], now: int) -> bool:
    try:
        conditions_of(parse(segment.expression), types, now)
    except ValidationError:
        return False
    return True


def _release(account_id: str, named: Uses, tx: Transaction, *, force: bool) -> None:
    segments = _naming(account_id, named, tx)
    if segments and not force:
        raise UsedBySegments([(segment.id, segment.name) for segment in segments])
    for segment in segments:
        _store_filter(account_id, segment, "", tx)


def _naming(account_id: str, named: Uses, tx: Transaction) -> list[SegmentRow]:
    """Returns the segments whose filter names one of these tags or custom fields."""
    segments = _all(account_id, tx)
    return [each for each in segments if Uses(*orjson.loads(each.uses)).names_any(named)]


def _uses_of(account_id: str, uses_named: Callable[[str], Uses], tx: Transaction) -> UsesOf:
    """Reads what all segments of the account name. One statement for any number of names."""
    segments = [
        (Use("SEGMENT", segment_id, name), Uses(*orjson.loads(uses)))
        for segment_id, name, uses in tx.all(_USES, account_id=account_id)
    ]

    def uses_of(name: str) -> list[Use]:
        named = uses_named(name)
        return [use for use, uses in segments if uses.names_any(named)]

    return uses_of


def _store_filter(account_id: str, segment: SegmentRow, text: str, tx: Transaction) -> None:
    uses = uses_of(parse(text)) if text else Uses([], [])
    _store(account_id, segment._replace(expression=text, uses=_json(uses)), tx)


def _json(uses: Uses) -> str:
    return orjson.dumps([*uses]).decode()
