"""TagService."""

from __future__ import annotations

from roster.v1 import tags_pb2 as pb
from roster.v1.tags_pb2_grpc import TagServiceServicer

from ..caller import account_id
from ..errors import TagNotFound, invalid
from ..ids import checked_id
from ..messages import Context, changed_fields, timestamp
from ..paging import page_of
from ..storage.database import Database
from . import store


class TagService(TagServiceServicer):
    """Manages the tags of the caller's account."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def CreateTag(
        self, request: pb.CreateTagRequest, _context: Context
    ) -> pb.CreateTagResponse:
        account = account_id()
        return await self._database.write(
            lambda tx: pb.CreateTagResponse(
                tag=_tag(store.create(account, request.name, request.description, tx))
            )
        )

    async def GetTag(self, request: pb.GetTagRequest, _context: Context) -> pb.GetTagResponse:
        account, tag_id = account_id(), checked_id(request.id, TagNotFound)
        row = await self._database.read(lambda tx: store.find(account, tag_id, tx))
        return pb.GetTagResponse(tag=_tag(row))

    async def ListTags(self, request: pb.ListTagsRequest, _context: Context) -> pb.ListTagsResponse:
        account, page = account_id(), page_of(request)
        rows, total = await self._database.read(lambda tx: store.page(account, page, tx))
        tags = [_tag(row) for row in rows]
        return pb.ListTagsResponse(tags=tags, total=total, page=page.number, limit=page.limit)

    async def UpdateTag(
        self, request: pb.UpdateTagRequest, _context: Context
    ) -> pb.UpdateTagResponse:
        account, fields = account_id(), changed_fields(request, ("name", "description"))
        if "name" in fields and not request.name:
            raise invalid("name", "REQUIRED", "is required")
        tag_id = checked_id(request.id, TagNotFound)
        changes = {field: getattr(request, field) for field in fields}
        row = await self._database.write(lambda tx: store.update(account, tag_id, changes, tx))
        return pb.UpdateTagResponse(tag=_tag(row))

    async def DeleteTag(
        self, request: pb.DeleteTagRequest, _context: Context
    ) -> pb.DeleteTagResponse:
        account, tag_id = account_id(), checked_id(request.id, TagNotFound)
        await self._database.write(lambda tx: store.delete(account, tag_id, tx))
        return pb.DeleteTagResponse()


def _tag(row: store.TagRow) -> pb.Tag:
    return pb.Tag(
        id=row.id,
        name=row.name,
        description=row.description,
        created_at=timestamp(row.created_at),
    )
