"""Builds the protobuf messages of operations."""

from __future__ import annotations

from google.protobuf.json_format import ParseDict

from roster.v1 import operations_pb2 as pb

from .store import OperationRow


def operation(row: OperationRow) -> pb.Operation:
    # A later version can have stored another action.
    return ParseDict(row.as_json(), pb.Operation(), ignore_unknown_fields=True)
