"""SegmentService."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Protocol

from roster.v1 import segments_pb2 as pb
from roster.v1.segments_pb2_grpc import SegmentServiceServicer

from ...rpc.caller import account_id
from ...rpc.errors import SegmentNotFound, invalid
from ...rpc.etags import check_change, with_etag
from ...rpc.messages import Context, add_uses, changed_fields, timestamp
from ...rpc.paging import Page, is_text, page_in
from ...rpc.uses import UsesOf
from ...storage.database import Database
from ...storage.transaction import Transaction
from ...values.ids import checked_id
from ..custom_fields.store import types as custom_field_types
from ..subscribers.query.conditions import conditions_of
from ..subscribers.query.syntax import check_quotes, parse
from ..subscribers.store_reading import check_reference, find
from . import store


class NamedSegments(Protocol):
    """The operations that name segments."""

    def segment_uses(self, account_id: str, tx: Transaction) -> UsesOf: ...
    def change_segment(self, account_id: str, tx: Transaction) -> None: ...
    def release_segment(self, account_id: str, segment_id: str, tx: Transaction) -> None: ...


class SegmentService(SegmentServiceServicer):
    """Manages the segments of the caller's account."""

    def __init__(self, database: Database, operations: NamedSegments) -> None:
        self._database = database
        self._operations = operations

    async def CreateSegment(
        self, request: pb.CreateSegmentRequest, _context: Context
    ) -> pb.CreateSegmentResponse:
        account, tree = account_id(), parse(request.filter)
        check_quotes(request.filter)

        def create(tx: Transaction) -> pb.CreateSegmentResponse:
            _check(account, tree, tx)
            row = store.create(account, request.name, request.filter, tree, request.description, tx)
            return with_etag(pb.CreateSegmentResponse(segment=_segment(row)))

        return await self._database.write(create)

    async def GetSegment(
        self, request: pb.GetSegmentRequest, _context: Context
    ) -> pb.GetSegmentResponse:
        account, segment_id = account_id(), checked_id(request.id, SegmentNotFound)

        def read(tx: Transaction) -> pb.GetSegmentResponse:
            row = store.find(account, segment_id, tx)
            reply = with_etag(pb.GetSegmentResponse(segment=_segment(row)))
            self._add_uses(account, request, [reply.segment], tx)
            return reply

        return await self._database.read(read)

    async def ListSegments(
        self, request: pb.ListSegmentsRequest, _context: Context
    ) -> pb.ListSegmentsResponse:
        account, page = account_id(), page_in("segments", request, is_key=is_text)

        def read(tx: Transaction) -> pb.ListSegmentsResponse:
            rows, total, following = store.page(account, page, tx)
            segments = [_segment(row) for row in rows]
            self._add_uses(account, request, segments, tx)
            return pb.ListSegmentsResponse(segments=segments, **page.fields(total, following))

        return await self._database.read(read)

    async def ListSubscriberSegments(
        self, request: pb.ListSubscriberSegmentsRequest, _context: Context
    ) -> pb.ListSubscriberSegmentsResponse:
        account, reference = account_id(), check_reference(request.id)
        page = page_in(f"segments of {reference}", request, is_key=is_text)

        def read(tx: Transaction) -> tuple[list[store.SegmentRow], int, Page | None]:
            return store.page_matching(account, find(account, reference, tx), page, tx)

        rows, total, following = await self._database.read(read)
        return pb.ListSubscriberSegmentsResponse(
            segments=map(_segment, rows), **page.fields(total, following)
        )

    async def UpdateSegment(
        self, request: pb.UpdateSegmentRequest, _context: Context
    ) -> pb.UpdateSegmentResponse:
        account, fields = account_id(), changed_fields(request, ("name", "filter", "description"))
        for field in ("name", "filter"):
            if field in fields and not getattr(request, field):
                raise invalid(field, "REQUIRED", "is required")
        segment_id = checked_id(request.id, SegmentNotFound)
        changes = {
            "expression" if field == "filter" else field: getattr(request, field)
            for field in fields
        }
        tree = parse(request.filter) if "filter" in fields else None

        def update(tx: Transaction) -> pb.UpdateSegmentResponse:
            if tree is not None:
                _check(account, tree, tx)
            before = _segment(store.find(account, segment_id, tx))
            check_change(request, before, tx)
            if tree is not None:
                # A segment of an earlier version can be sent back.
                if request.filter != before.filter:
                    check_quotes(request.filter)
                self._operations.change_segment(account, tx)
            row = store.update(account, segment_id, changes, tree, tx)
            return with_etag(pb.UpdateSegmentResponse(segment=_segment(row)))

        return await self._database.write(update)

    async def DeleteSegment(
        self, request: pb.DeleteSegmentRequest, _context: Context
    ) -> pb.DeleteSegmentResponse:
        account, segment_id = account_id(), checked_id(request.id, SegmentNotFound)

        def delete(tx: Transaction) -> None:
            check_change(request, _segment(store.find(account, segment_id, tx)), tx)
            store.delete(account, segment_id, tx)
            self._operations.release_segment(account, segment_id, tx)

        await self._database.write(delete)
        return pb.DeleteSegmentResponse()

    def _add_uses(
        self, account: str, request: Any, segments: Iterable[pb.Segment], tx: Transaction
    ) -> None:
        add_uses(request, segments, "id", [partial(self._operations.segment_uses, account, tx)])


def _check(account_id: str, tree: Any, tx: Transaction) -> None:
    """Raises ValidationError for a filter that does not fit the custom fields of the account."""
    conditions_of(tree, custom_field_types(account_id, tx), tx.now)


def _segment(row: store.SegmentRow) -> pb.Segment:
    return pb.Segment(
        id=row.id,
        name=row.name,
        filter=row.expression,
        description=row.description,
        created_at=timestamp(row.created_at),
        updated_at=timestamp(row.updated_at),
    )
