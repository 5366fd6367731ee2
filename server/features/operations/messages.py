"""Builds the protobuf messages of operations."""

from __future__ import annotations

from collections.abc import Sequence

from google.protobuf.json_format import ParseDict

from roster.v1 import operations_pb2 as pb

from ...rpc.errors import invalid
from ...values.ids import is_id
from .store import OperationRow


def operation(row: OperationRow) -> pb.Operation:
    # A later version can have stored another action.
    return ParseDict(row.as_json(), pb.Operation(), ignore_unknown_fields=True)


def check_excluded(ids: Sequence[str], exclude_ids: Sequence[str]) -> None:
    """Raises ValidationError for excluded subscribers that could be selected nevertheless."""
    if exclude_ids and ids:
        message = "is accepted with filter, segmentId and q only"
        raise invalid("excludeIds", "INVALID_VALUE", message)
    for index, text in enumerate(exclude_ids):
        if not is_id(text):
            message = "must be the identifier of a subscriber"
            raise invalid(f"excludeIds[{index}]", "INVALID_FORMAT", message)
