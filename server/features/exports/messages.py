"""Builds the protobuf messages of exports."""

from __future__ import annotations

from google.protobuf.json_format import ParseDict

from roster.v1 import exports_pb2 as pb

from .store import ExportState


def export(state: ExportState) -> pb.SubscriberExport:
    # A later version can have stored more.
    return ParseDict(state.as_json(), pb.SubscriberExport(), ignore_unknown_fields=True)
