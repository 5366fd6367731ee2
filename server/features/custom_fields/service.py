"""CustomFieldService."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Protocol

from roster.v1 import custom_fields_pb2 as pb
from roster.v1.custom_fields_pb2_grpc import CustomFieldServiceServicer

from ...rpc.caller import account_id
from ...rpc.errors import CustomFieldNotFound, invalid
from ...rpc.etags import check_change, with_etag
from ...rpc.messages import Context, changed_fields, timestamp
from ...rpc.paging import page_in, token_of
from ...storage.database import Database
from ...storage.transaction import Transaction
from ...values.ids import checked_id
from . import store
from .rules import DataType, derive_key, merge_tag


class NamedCustomFields(Protocol):
    """The filters that name custom fields."""

    def release_custom_field(
        self, account_id: str, key: str, tx: Transaction, *, force: bool
    ) -> None: ...


class CustomFieldService(CustomFieldServiceServicer):
    """Manages the custom fields of the caller's account."""

    def __init__(self, database: Database, filters: Sequence[NamedCustomFields]) -> None:
        self._database = database
        self._filters = filters

    async def CreateCustomField(
        self, request: pb.CreateCustomFieldRequest, _context: Context
    ) -> pb.CreateCustomFieldResponse:
        account, key = account_id(), derive_key(request.label)
        data_type = DataType(request.data_type or DataType.TEXT)

        def create(tx: Transaction) -> pb.CreateCustomFieldResponse:
            row = store.create(account, key, request.label, data_type, request.fallback, tx)
            return with_etag(pb.CreateCustomFieldResponse(custom_field=_custom_field(row)))

        return await self._database.write(create)

    async def GetCustomField(
        self, request: pb.GetCustomFieldRequest, _context: Context
    ) -> pb.GetCustomFieldResponse:
        account, field_id = account_id(), checked_id(request.id, CustomFieldNotFound)
        row = await self._database.read(lambda tx: store.find(account, field_id, tx))
        return with_etag(pb.GetCustomFieldResponse(custom_field=_custom_field(row)))

    async def ListCustomFields(
        self, request: pb.ListCustomFieldsRequest, _context: Context
    ) -> pb.ListCustomFieldsResponse:
        account, page = account_id(), page_in("custom fields", request)
        rows, total, following = await self._database.read(partial(store.page, account, page))
        return pb.ListCustomFieldsResponse(
            custom_fields=map(_custom_field, rows),
            total=total,
            page=page.number,
            limit=page.limit,
            next_page_token=token_of(following),
        )

    async def UpdateCustomField(
        self, request: pb.UpdateCustomFieldRequest, _context: Context
    ) -> pb.UpdateCustomFieldResponse:
        account, fields = account_id(), changed_fields(request, ("label", "fallback", "data_type"))
        if "label" in fields and not request.label:
            raise invalid("label", "REQUIRED", "is required")
        field_id = checked_id(request.id, CustomFieldNotFound)
        if not request.data_type:
            fields.discard("data_type")
        changes = {field: getattr(request, field) for field in fields}

        def update(tx: Transaction) -> pb.UpdateCustomFieldResponse:
            check_change(request, _custom_field(store.find(account, field_id, tx)), tx)
            row = store.update(account, field_id, changes, tx)
            return with_etag(pb.UpdateCustomFieldResponse(custom_field=_custom_field(row)))

        return await self._database.write(update)

    async def DeleteCustomField(
        self, request: pb.DeleteCustomFieldRequest, _context: Context
    ) -> pb.DeleteCustomFieldResponse:
        account, field_id = account_id(), checked_id(request.id, CustomFieldNotFound)

        def delete(tx: Transaction) -> None:
            before = store.find(account, field_id, tx)
            check_change(request, _custom_field(before), tx)
            for filters in self._filters:
                filters.release_custom_field(account, before.key, tx, force=request.force)
            store.delete(account, field_id, tx)

        await self._database.write(delete)
        return pb.DeleteCustomFieldResponse()


def _custom_field(row: store.CustomFieldRow) -> pb.CustomField:
    return pb.CustomField(
        id=row.id,
        key=row.key,
        label=row.label,
        data_type=pb.CustomField.DataType.ValueType(row.data_type),
        merge_tag=merge_tag(row.key),
        created_at=timestamp(row.created_at),
        updated_at=timestamp(row.updated_at),
        fallback=row.fallback or None,
    )
