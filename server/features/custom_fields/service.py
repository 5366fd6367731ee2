"""CustomFieldService."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Protocol

from google.protobuf.struct_pb2 import Value

from roster.v1 import custom_fields_pb2 as pb
from roster.v1.custom_fields_pb2_grpc import CustomFieldServiceServicer

from ...rpc.caller import account_id
from ...rpc.errors import CustomFieldNotFound, invalid
from ...rpc.etags import check_change, with_etag
from ...rpc.messages import Context, add_uses, changed_fields, timestamp
from ...rpc.paging import page_in
from ...rpc.uses import UsesOf
from ...storage.database import Database
from ...storage.transaction import Transaction
from ...values.ids import checked_id
from . import store
from .conversion import CheckAgain, Checked, Revisions, check
from .rules import DataType, derive_key, merge_tag
from .store_values import FrequentValues, frequent_values


class NamedCustomFields(Protocol):
    """The filters that name custom fields."""

    def custom_field_uses(self, account_id: str, tx: Transaction) -> UsesOf: ...

    def change_custom_field_type(
        self, account_id: str, key: str, data_type: DataType, tx: Transaction
    ) -> None: ...

    def release_custom_field(
        self, account_id: str, key: str, tx: Transaction, *, force: bool
    ) -> None: ...


class CustomFieldService(CustomFieldServiceServicer):
    """Manages the custom fields of the caller's account."""

    def __init__(
        self, database: Database, filters: Sequence[NamedCustomFields], revisions: Revisions
    ) -> None:
        self._database = database
        self._filters = filters
        self._revisions = revisions

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

        def read(tx: Transaction) -> pb.GetCustomFieldResponse:
            row = store.find(account, field_id, tx)
            reply = with_etag(pb.GetCustomFieldResponse(custom_field=_custom_field(row)))
            self._add_uses(account, request, [reply.custom_field], tx)
            return reply

        return await self._database.read(read)

    async def ListCustomFields(
        self, request: pb.ListCustomFieldsRequest, _context: Context
    ) -> pb.ListCustomFieldsResponse:
        account, page = account_id(), page_in("custom fields", request)

        def read(tx: Transaction) -> pb.ListCustomFieldsResponse:
            rows, total, following = store.page(account, page, tx)
            fields = [_custom_field(row) for row in rows]
            self._add_uses(account, request, fields, tx)
            return pb.ListCustomFieldsResponse(
                custom_fields=fields, **page.fields(total, following)
            )

        return await self._database.read(read)

    async def SuggestCustomFieldValues(
        self, request: pb.SuggestCustomFieldValuesRequest, _context: Context
    ) -> pb.SuggestCustomFieldValuesResponse:
        account, field_id = account_id(), checked_id(request.id, CustomFieldNotFound)

        def read(tx: Transaction) -> FrequentValues:
            row = store.find(account, field_id, tx)
            return frequent_values(account, row.key, row.data_type, request.prefix, tx)

        found = await self._database.read(read)
        values = [
            pb.CustomFieldValueTotal(value=_value(value), total=total)
            for value, total in found.totals
        ]
        return pb.SuggestCustomFieldValuesResponse(values=values, is_exact=found.is_exact)

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
        checked: Checked | None = None
        if "data_type" in changes:
            checked = await check(
                account, field_id, DataType(request.data_type), self._revisions, self._database
            )

        def update(checked: Checked | None, tx: Transaction) -> pb.UpdateCustomFieldResponse:
            before = store.find(account, field_id, tx)
            check_change(request, _custom_field(before), tx)
            if checked is not None and checked.data_type != before.type:
                checked.confirm(before, self._revisions, tx)
                for filters in self._filters:
                    filters.change_custom_field_type(account, before.key, checked.data_type, tx)
            row = store.update(account, field_id, changes, tx)
            return with_etag(pb.UpdateCustomFieldResponse(custom_field=_custom_field(row)))

        while True:
            try:
                return await self._database.write(partial(update, checked))
            except CheckAgain:
                checked = await check(
                    account, field_id, DataType(request.data_type), self._revisions, self._database
                )

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

    def _add_uses(
        self, account: str, request: Any, fields: Iterable[pb.CustomField], tx: Transaction
    ) -> None:
        users = [partial(filters.custom_field_uses, account, tx) for filters in self._filters]
        add_uses(request, fields, "key", users)


def _value(value: str | float) -> Value:
    match value:
        case bool():
            return Value(bool_value=value)
        case str():
            return Value(string_value=value)
    return Value(number_value=value)


def _custom_field(row: store.CustomFieldRow) -> pb.CustomField:
    return pb.CustomField(
        id=row.id,
        key=row.key,
        label=row.label,
        data_type=pb.CustomField.DataType.ValueType(row.type),
        merge_tag=merge_tag(row.key),
        created_at=timestamp(row.created_at),
        updated_at=timestamp(row.updated_at),
        fallback=row.fallback or None,
    )
