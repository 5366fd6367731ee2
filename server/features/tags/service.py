"""TagService."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Protocol

from roster.v1 import tags_pb2 as pb
from roster.v1.tags_pb2_grpc import TagServiceServicer

from ...rpc.caller import account_id
from ...rpc.errors import TagNotFound, invalid
from ...rpc.etags import check_change, with_etag
from ...rpc.messages import Context, add_uses, changed_fields, timestamp
from ...rpc.paging import is_text, page_in
from ...rpc.uses import UsesOf
from ...storage.database import Database
from ...storage.transaction import Transaction
from ...values.ids import checked_id
from . import store


class NamedTags(Protocol):
    """The filters that name tags."""

    def tag_uses(self, account_id: str, tx: Transaction) -> UsesOf: ...
    def rename_tag(self, account_id: str, before: str, name: str, tx: Transaction) -> None: ...
    def release_tag(self, account_id: str, name: str, tx: Transaction, *, force: bool) -> None: ...


class TagService(TagServiceServicer):
    """Manages the tags of the caller's account."""

    def __init__(self, database: Database, filters: Sequence[NamedTags]) -> None:
        self._database = database
        self._filters = filters

    async def CreateTag(
        self, request: pb.CreateTagRequest, _context: Context
    ) -> pb.CreateTagResponse:
        account = account_id()
        return await self._database.write(
            lambda tx: with_etag(
                pb.CreateTagResponse(
                    tag=_tag(store.create(account, request.name, request.description, tx))
                )
            )
        )

    async def GetTag(self, request: pb.GetTagRequest, _context: Context) -> pb.GetTagResponse:
        account, tag_id = account_id(), checked_id(request.id, TagNotFound)

        def read(tx: Transaction) -> pb.GetTagResponse:
            row = store.find(account, tag_id, tx)
            reply = with_etag(pb.GetTagResponse(tag=_tag(row)))
            self._add_uses(account, request, [reply.tag], tx)
            return reply

        return await self._database.read(read)

    async def ListTags(self, request: pb.ListTagsRequest, _context: Context) -> pb.ListTagsResponse:
        account, page = account_id(), page_in("tags", request, is_key=is_text)

        def read(tx: Transaction) -> pb.ListTagsResponse:
            rows, total, following = store.page(account, page, tx)
            tags = [_tag(row) for row in rows]
            self._add_uses(account, request, tags, tx)
            return pb.ListTagsResponse(tags=tags, **page.fields(total, following))

        return await self._database.read(read)

    async def UpdateTag(
        self, request: pb.UpdateTagRequest, _context: Context
    ) -> pb.UpdateTagResponse:
        account, fields = account_id(), changed_fields(request, ("name", "description"))
        if "name" in fields and not request.name:
            raise invalid("name", "REQUIRED", "is required")
        tag_id = checked_id(request.id, TagNotFound)
        changes = {field: getattr(request, field) for field in fields}

        def update(tx: Transaction) -> pb.UpdateTagResponse:
            before = store.find(account, tag_id, tx)
            check_change(request, _tag(before), tx)
            row = store.update(account, tag_id, changes, tx)
            if row.name != before.name:
                for filters in self._filters:
                    filters.rename_tag(account, before.name, row.name, tx)
            return with_etag(pb.UpdateTagResponse(tag=_tag(row)))

        return await self._database.write(update)

    async def DeleteTag(
        self, request: pb.DeleteTagRequest, _context: Context
    ) -> pb.DeleteTagResponse:
        account, tag_id = account_id(), checked_id(request.id, TagNotFound)

        def delete(tx: Transaction) -> None:
            before = store.find(account, tag_id, tx)
            check_change(request, _tag(before), tx)
            for filters in self._filters:
                filters.release_tag(account, before.name, tx, force=request.force)
            store.delete(account, tag_id, tx)

        await self._database.write(delete)
        return pb.DeleteTagResponse()

    def _add_uses(
        self, account: str, request: Any, tags: Iterable[pb.Tag], tx: Transaction
    ) -> None:
        users = [partial(filters.tag_uses, account, tx) for filters in self._filters]
        add_uses(request, tags, "name", users)


def _tag(row: store.TagRow) -> pb.Tag:
    return pb.Tag(
        id=row.id,
        name=row.name,
        description=row.description,
        created_at=timestamp(row.created_at),
    )
