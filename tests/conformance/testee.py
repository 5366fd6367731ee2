"""The program under test of the conformance suite, which decodes and encodes messages.

Requests and responses are preceded by their length, four bytes in little-endian order. The only
argument is a file with the descriptors of the messages. The protobuf library decodes and encodes
binary, Roster's codec JSON with the options of the specification.
"""

from __future__ import annotations

import struct
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import orjson
from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    field_mask_pb2,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.message import DecodeError, EncodeError

from rosterd.http_gateway.codec import strict_json
from rosterd.http_gateway.codec.options import SPECIFICATION, CodecOptions
from rosterd.http_gateway.codec.scalars import NoJsonForm
from rosterd.http_gateway.codec.transcode import message_class, reader, writer
from rosterd.http_gateway.request_errors import RequestError, Violations

# Imports of the suite's messages. Importing the modules adds them to the pool.
IMPORTED = (any_pb2, duration_pb2, field_mask_pb2, struct_pb2, timestamp_pb2, wrappers_pb2)
POOL = descriptor_pool.Default()
MAX_DEPTH = 100
LENIENT = replace(SPECIFICATION, ignore_unknown=True)


class Unreadable(Exception):
    """The JSON does not represent the message."""


class Testee:
    """Responds to requests with messages of the pool."""

    def __init__(self) -> None:
        self._request = self._class("conformance.ConformanceRequest")
        self._response = self._class("conformance.ConformanceResponse")
        formats = POOL.FindEnumTypeByName("conformance.WireFormat").values_by_name
        categories = POOL.FindEnumTypeByName("conformance.TestCategory").values_by_name
        self._binary, self._json = formats["PROTOBUF"].number, formats["JSON"].number
        self._lenient = categories["JSON_IGNORE_UNKNOWN_PARSING_TEST"].number

    def respond(self, data: bytes) -> bytes:
        """Returns the serialized response to a request."""
        request = self._request.FromString(data)
        try:
            result = self._convert(request)
        except Exception as error:  # noqa: BLE001 - reported to the suite
            result = {"runtime_error": repr(error)}
        return self._response(**result).SerializeToString()

    def _convert(self, request: Any) -> dict[str, Any]:
        payload = request.WhichOneof("payload")
        if (
            payload not in ("protobuf_payload", "json_payload")
            or request.requested_output_format not in (self._binary, self._json)
            or request.print_unknown_fields
        ):
            return {"skipped": "only binary and JSON are supported"}
        message = self._class(request.message_type)()
        try:
            if payload == "protobuf_payload":
                message.ParseFromString(request.protobuf_payload)
            else:
                lenient = request.test_category == self._lenient
                read(request.json_payload, message, LENIENT if lenient else SPECIFICATION)
        except (DecodeError, RequestError, Unreadable) as error:
            return {"parse_error": str(error)}
        try:
            if request.requested_output_format == self._binary:
                return {"protobuf_payload": message.SerializeToString()}
            value = writer(message.DESCRIPTOR, options=SPECIFICATION)(message)
            return {"json_payload": orjson.dumps(value).decode()}
        except (EncodeError, NoJsonForm) as error:
            return {"serialize_error": str(error)}

    def _class(self, name: str) -> Any:
        return message_class(POOL.FindMessageTypeByName(name))


def read(text: str, message: Any, options: CodecOptions) -> None:
    """Reads JSON into a message. Raises Unreadable or RequestError."""
    value, faults = strict_json.loads(text.encode(), max_depth=MAX_DEPTH), Violations()
    reader(message.DESCRIPTOR, options=options)(value, "", faults, message)
    if faults:
        raise Unreadable("; ".join(f"{fault.field} {fault.message}" for fault in faults.details))


def serve(testee: Testee, requests: BinaryIO, responses: BinaryIO) -> None:
    """Responds to requests until the input ends."""
    while head := requests.read(4):
        (length,) = struct.unpack("<I", head)
        body = testee.respond(requests.read(length))
        responses.write(struct.pack("<I", len(body)) + body)
        responses.flush()


def main() -> None:
    files = descriptor_pb2.FileDescriptorSet.FromString(Path(sys.argv[1]).read_bytes())
    for file in files.file:
        POOL.AddSerializedFile(file.SerializeToString())
    serve(Testee(), sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()
