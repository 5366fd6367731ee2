"""Converts entries to messages, and resources to the fields of entries."""

from __future__ import annotations

import hashlib
from typing import Any

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from roster.v1 import audit_pb2 as pb

from ...rpc.messages import actor_message, milliseconds, timestamp
from ...values.clock import iso8601
from ...values.ids import timestamp_of
from .rules import resource_type
from .store import AuditEntryRow, parsed


def entry_message(row: AuditEntryRow) -> pb.AuditEntry:
    message = pb.AuditEntry(
        id=row.id,
        action=row.action,
        created_at=timestamp(timestamp_of(row.id)),
        actor=actor_message(row.who),
        resource_type=resource_type(row.action),
        resource_id=row.resource_id or None,
        ip=row.ip or None,
    )
    if row.before:
        message.before.update(parsed(row.before))
    if row.after:
        message.after.update(parsed(row.after))
    return message


def id_of(resource: Message) -> str:
    """Returns the identifier of a resource, which is its first field."""
    return str(getattr(resource, resource.DESCRIPTOR.fields[0].name))


def fields_of(resource: Message) -> dict[str, Any]:
    """Returns a resource as JSON, with hashes of binary fields instead of their content."""
    return {
        field.json_name: _value(field, getattr(resource, field.name))
        for field in resource.DESCRIPTOR.fields
        if not field.has_presence or resource.HasField(field.name)
    }


def _value(field: Any, value: Any) -> Any:
    if field.is_repeated:
        return list(value)
    if isinstance(value, Timestamp):
        return iso8601(milliseconds(value))
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest() if value else ""
    if field.enum_type is not None:
        return field.enum_type.values_by_number[value].name
    return value
