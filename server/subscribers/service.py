"""SubscriberService."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, TypeVar

from roster.v1 import http_pb2 as pb_http
from roster.v1 import subscribers_pb2 as pb
from roster.v1.subscribers_pb2_grpc import SubscriberServiceServicer

from ..caller import account_id, current
from ..clock import written
from ..custom_fields.store import column_fields
from ..errors import invalid
from ..ids import is_id
from ..messages import Context, changed_fields, check_page, plain, set_timestamp, split_message
from ..storage.database import Database
from ..storage.transaction import Transaction
from ..streams import accept, accept_with_first, prefetch
from ..suppressions.store import Suppressions
from ..tags.rules import distinct, name_key
from . import rules, store
from .csv_format import written_header, written_tags, written_text, written_values
from .import_pipeline import ImportPipeline
from .list_query import export_filter, list_query, next_page_token
from .store_paging import PagePosition, page, page_without_total
from .store_reading import SubscriberRow, check_reference, find

Reply = TypeVar(
    "Reply",
    pb.CreateSubscriberResponse,
    pb.GetSubscriberResponse,
    pb.UpdateSubscriberResponse,
    pb.ChangeSubscriberStatusResponse,
    pb.AddSubscriberTagsResponse,
    pb.RemoveSubscriberTagsResponse,
)

# Subscribers in one message of an export: few enough that it waits for memory rather
# than takes it, many enough that reading them costs little beside writing them.
EXPORTED_AT_ONCE = 500
UPDATABLE = ("email", "first_name", "last_name", "tags", "custom_fields")


class SubscriberService(SubscriberServiceServicer):
    """Keeps the subscribers of the caller's account."""

    def __init__(self, database: Database, suppressions: Suppressions) -> None:
        self._database = database
        self._store = store.SubscriberStore(suppressions)

    async def CreateSubscriber(
        self, request: pb.CreateSubscriberRequest, context: Context
    ) -> pb.CreateSubscriberResponse:
        account = account_id()
        new = rules.NewSubscriber(
            email=rules.check_email(request.email),
            first_name=request.first_name,
            last_name=request.last_name,
            status=rules.initial_status(is_confirmed=request.is_confirmed),
            tags=distinct(list(request.tags)),
            values=plain(request.custom_fields),
        )
        return await self._database.write(
            lambda tx: _filled(pb.CreateSubscriberResponse(), self._store.create(account, new, tx))
        )

    async def BulkCreateSubscribers(
        self, request: pb.BulkCreateSubscribersRequest, context: Context
    ) -> pb.BulkCreateSubscribersResponse:
        account, rows = account_id(), request.subscribers
        validated = dict(enumerate(rules.validate_rows(rows)))
        good = {i: row for i, row in validated.items() if isinstance(row, rules.NewSubscriber)}
        failed = {i: row for i, row in validated.items() if isinstance(row, rules.RowError)}

        def reply(failed: Mapping[int, rules.RowError]) -> pb.BulkCreateSubscribersResponse:
            return pb.BulkCreateSubscribersResponse(
                failed=[
                    pb.BulkFailure(
                        index=index,
                        email=rows[index].email[: rules.MAX_REPEATED],
                        reason=pb.BulkFailure.Reason.ValueType(failed[index].failure),
                    )
                    for index in sorted(failed)
                ]
            )

        def create(tx: Transaction) -> pb.BulkCreateSubscribersResponse:
            return reply(failed | self._store.create_many(account, good, tx).row_errors)

        return await self._database.write(create)

    async def GetSubscriber(
        self, request: pb.GetSubscriberRequest, context: Context
    ) -> pb.GetSubscriberResponse:
        account, reference = account_id(), check_reference(request.id)
        row = await self._database.read(lambda tx: find(account, reference, tx))
        return _filled(pb.GetSubscriberResponse(), row)

    async def ListSubscribers(
        self, request: pb.ListSubscribersRequest, context: Context
    ) -> pb.ListSubscribersResponse:
        account, query = account_id(), list_query(request)
        reply = pb.ListSubscribersResponse(page=query.page, limit=query.position.limit)
        if query.matches_nothing:
            return reply
        result = await self._database.read(
            lambda tx: page(account, query.filter, query.position, tx)
        )
        reply.total = result.total
        for row in result.rows:
            _fill(reply.subscribers.add(), row)
        if result.more:
            reply.next_page_token = next_page_token(query, result.rows[-1].id)
        check_page(reply)
        return reply

    async def UpdateSubscriber(
        self, request: pb.UpdateSubscriberRequest, context: Context
    ) -> pb.UpdateSubscriberResponse:
        account, fields = account_id(), changed_fields(request, UPDATABLE)
        changes = store.Changes(
            email=rules.check_email(request.email) if "email" in fields else None,
            first_name=request.first_name if "first_name" in fields else None,
            last_name=request.last_name if "last_name" in fields else None,
            tags=distinct(list(request.tags)) if "tags" in fields else None,
            values=plain(request.custom_fields) if "custom_fields" in fields else None,
        )
        reference = check_reference(request.id)
        return await self._database.write(
            lambda tx: _filled(
                pb.UpdateSubscriberResponse(),
                self._store.update(account, reference, changes, tx),
            )
        )

    async def ChangeSubscriberStatus(
        self, request: pb.ChangeSubscriberStatusRequest, context: Context
    ) -> pb.ChangeSubscriberStatusResponse:
        caller, reference = current(), check_reference(request.id)
        status, by_admin = rules.Status(request.status), caller.scope == "admin"
        return await self._database.write(
            lambda tx: _filled(
                pb.ChangeSubscriberStatusResponse(),
                store.change_status(caller.account_id, reference, status, tx, by_admin=by_admin),
            )
        )

    async def AddSubscriberTags(
        self, request: pb.AddSubscriberTagsRequest, context: Context
    ) -> pb.AddSubscriberTagsResponse:
        account, reference = account_id(), check_reference(request.id)
        tags = distinct(list(request.tags))
        return await self._database.write(
            lambda tx: _filled(
                pb.AddSubscriberTagsResponse(), store.add_tags(account, reference, tags, tx)
            )
        )

    async def RemoveSubscriberTags(
        self, request: pb.RemoveSubscriberTagsRequest, context: Context
    ) -> pb.RemoveSubscriberTagsResponse:
        account, reference = account_id(), check_reference(request.id)
        keys = {name_key(name) for name in request.tags}
        return await self._database.write(
            lambda tx: _filled(
                pb.RemoveSubscriberTagsResponse(),
                store.remove_tags(account, reference, keys, tx),
            )
        )

    async def ImportSubscribers(
        self, requests: AsyncIterator[pb.ImportSubscribersRequest], context: Context
    ) -> AsyncIterator[pb.ImportSubscribersResponse]:
        # One message is read, one judged, one stored and one told of at the same time.
        # What works ahead is closed by name: left to the collector, it would outlive the call.
        pipeline = ImportPipeline(self._store, self._database)
        async with (
            aclosing(prefetch(requests)) as coming,
            aclosing(pipeline.validated(coming)) as judging,
            # A first message that is not valid, such as a header at fault, fails the whole call.
            aclosing(accept_with_first(context, judging)) as accepted,
            aclosing(prefetch(accepted)) as validated,
            aclosing(pipeline.stored(validated)) as storing,
            aclosing(prefetch(storing)) as stored,
        ):
            async for told in stored:
                for piece in split_message(told.reply()):
                    yield piece

    async def ExportSubscribers(
        self, request: pb.ExportSubscribersRequest, context: Context
    ) -> AsyncIterator[pb.ExportSubscribersResponse]:
        account, filters = account_id(), export_filter(request)
        after = request.after_id or None
        if after is not None and not is_id(after):
            raise invalid("afterId", "INVALID_FORMAT", "must be a subscriber ID")
        await accept(context)
        keys: list[str] = []
        if request.format == pb.ExportSubscribersRequest.CSV:
            fields = await self._database.read(lambda tx: column_fields(account, tx))
            keys = [field.key for field in fields]
            header = pb_http.CsvLine(cells=written_header(keys))
            yield pb.ExportSubscribersResponse(lines=[header])
        limit = EXPORTED_AT_ONCE
        while True:
            position = PagePosition(limit, after=after)
            rows = await self._database.read(
                partial(page_without_total, account, filters, position)
            )
            pieces = 0
            if rows:
                for piece in split_message(_exported(rows, request.format, keys)):
                    pieces += 1
                    yield piece
            if len(rows) < limit:
                return
            after = rows[-1].id
            # As many as one message holds, so that large subscribers take no more memory.
            limit = min(limit * 2, EXPORTED_AT_ONCE) if pieces == 1 else max(limit // pieces, 1)

    async def DeleteSubscriber(
        self, request: pb.DeleteSubscriberRequest, context: Context
    ) -> pb.DeleteSubscriberResponse:
        account, reference = account_id(), check_reference(request.id)
        await self._database.write(lambda tx: self._store.delete(account, reference, tx))
        return pb.DeleteSubscriberResponse()


def _exported(
    rows: Sequence[SubscriberRow], form: int, keys: Sequence[str]
) -> pb.ExportSubscribersResponse:
    reply = pb.ExportSubscribersResponse()
    for row in rows:
        if form == pb.ExportSubscribersRequest.CSV:
            reply.lines.add(cells=_cells(row, keys))
        else:
            _fill(reply.subscribers.add(), row)
    return reply


def _cells(row: SubscriberRow, keys: Sequence[str]) -> list[str]:
    return [
        row.id,
        written_text(row.email),
        written_text(row.first_name),
        written_text(row.last_name),
        rules.Status(row.status).name,
        written_text(written_tags(row.tags)),
        written(row.created_at),
        *written_values(row.values, keys),
    ]


def _filled(reply: Reply, row: SubscriberRow) -> Reply:
    _fill(reply.subscriber, row)
    return reply


def _fill(target: pb.Subscriber, row: SubscriberRow) -> None:
    """Fills a subscriber in place: pages are made of many, and copies cost as much again."""
    target.id, target.email, _, target.first_name, target.last_name, status, at, values, tags = row
    target.status = status  # type: ignore[assignment]
    if tags:
        target.tags.extend(tags)
    set_timestamp(target.created_at, at)
    if values:
        target.custom_fields.update(dict[str, Any](values))
