"""Reads the filters of requests."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Protocol

from ....rpc.caller import account_id
from ....rpc.errors import Detail, SegmentNotFound, ValidationError
from ....storage.database import Database
from ....storage.transaction import Transaction
from ....values.ids import checked_id
from ...custom_fields.store import types as custom_field_types
from .expression import FilterExpression, filter_expression, uses_custom_fields
from .syntax import parse
from .tree import And, joined


class SegmentFilters(Protocol):
    """The filters of segments."""

    def filter_of(self, account_id: str, segment_id: str, tx: Transaction) -> str: ...


class FilterExpressions:
    """Reads filters and segments of the caller's account."""

    def __init__(self, database: Database, segments: SegmentFilters) -> None:
        self._database = database
        self._segments = segments

    async def read(self, text: str, segment: str) -> FilterExpression | None:
        """Returns the conditions of a filter and of a segment, or None if both are empty.

        Raises ValidationError for `filter` or `segment`, SegmentNotFound or SegmentWithoutFilter.
        """
        texts = await self.texts(text, segment)
        return await self.expression(texts, segment) if texts else None

    async def texts(self, text: str, segment: str) -> list[str]:
        """Returns the filter and that of the segment, without empty ones."""
        texts = [text] if text else []
        if segment:
            texts.append(await self._database.read(partial(self.filter_of, account_id(), segment)))
        return texts

    def filter_of(self, account_id: str, segment: str, tx: Transaction) -> str:
        """Returns the filter of a segment. Raises SegmentNotFound or SegmentWithoutFilter."""
        return self._segments.filter_of(account_id, checked_id(segment, SegmentNotFound), tx)

    async def expression(self, texts: Sequence[str], segment: str) -> FilterExpression:
        """Returns the conditions of filters that must all match; the last is that of the segment.

        Raises ValidationError for `filter`, or for `segment` if its filter is no longer valid.
        """
        try:
            return await self._expression(texts)
        except ValidationError as error:
            if not segment:
                raise
            details = error.details
        if len(texts) > 1:
            await self._expression(texts[:-1])
        raise ValidationError(
            [
                Detail("segment", each.code, f"is no longer valid: filter {each.message}")
                for each in details
            ]
        )

    async def _expression(self, texts: Sequence[str]) -> FilterExpression:
        tree, types = joined(And, [parse(text) for text in texts]), {}
        if uses_custom_fields(tree):
            types = await self._database.read(partial(custom_field_types, account_id()))
        return filter_expression(tree, types)
