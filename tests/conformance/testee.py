"""The program that the conformance suite asks: each request is a message to read and to write.

A request and its answer are each led by their length, four bytes, little end first.
The program's one argument is a file with the descriptors of the messages. Binary is
read and written by protobuf itself; JSON by Roster's codec, in the specification's options.
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

from http_gateway.codec import strict_json
from http_gateway.codec.options import SPECIFICATION, CodecOptions
from http_gateway.codec.scalars import NoJsonForm
from http_gateway.codec.transcode import message_class, reader, writer
from http_gateway.request_errors import RequestError, Violations

# What the messages of the suite import; to import the modules puts it into the pool.
IMPORTED = (any_pb2, duration_pb2, field_mask_pb2, struct_pb2, timestamp_pb2, wrappers_pb2)
POOL = descriptor_pool.Default()
MAX_DEPTH = 100
LENIENT = replace(SPECIFICATION, ignore_unknown=True)


class Unreadable(Exception):
    """JSON that is none of the message."""


class Testee:
    """Answers requests by the messages of a pool."""

    def __init__(self) -> None:
        self._request = self._class("conformance.ConformanceRequest")
        self._response = self._class("conformance.ConformanceResponse")
        formats = POOL.FindEnumTypeByName("conformance.WireFormat").values_by_name
        categories = POOL.FindEnumTypeByName("conformance.TestCategory").values_by_name
        self._binary, self._json = formats["PROTOBUF"].number, formats["JSON"].number
        self._lenient = categories["JSON_IGNORE_UNKNOWN_PARSING_TEST"].number

    def answer(self, text: bytes) -> bytes:
        """Returns the answer to a request; an error of the codec itself is one that says so."""
        request = self._request.FromString(text)
        try:
            given = self._answer(request)
        except Exception as error:  # noqa: BLE001 - the suite counts it as a failure and goes on
            given = {"runtime_error": repr(error)}
        return self._response(**given).SerializeToString()

    def _answer(self, request: Any) -> dict[str, Any]:
        payload = request.WhichOneof("payload")
        if (
            payload not in ("protobuf_payload", "json_payload")
            or request.requested_output_format not in (self._binary, self._json)
            or request.print_unknown_fields
        ):
            return {"skipped": "only binary and JSON are spoken here"}
        message = self._class(request.message_type)()
        try:
            if payload == "protobuf_payload":
                message.ParseFromString(request.protobuf_payload)
            else:
                lenient = request.test_category == self._lenient
                read(request.json_payload, message, LENIENT if lenient else SPECIFICATION)
        except (DecodeError, RequestError, Unreadable) as why:
            return {"parse_error": str(why)}
        try:
            if request.requested_output_format == self._binary:
                return {"protobuf_payload": message.SerializeToString()}
            value = writer(message.DESCRIPTOR, options=SPECIFICATION)(message)
            return {"json_payload": orjson.dumps(value).decode()}
        except (EncodeError, NoJsonForm) as why:
            return {"serialize_error": str(why)}

    def _class(self, name: str) -> Any:
        return message_class(POOL.FindMessageTypeByName(name))


def read(text: str, message: Any, options: CodecOptions) -> None:
    """Reads JSON into a message. Raises Unreadable or RequestError."""
    value, faults = strict_json.loads(text.encode(), max_depth=MAX_DEPTH), Violations()
    reader(message.DESCRIPTOR, options=options)(value, "", faults, message)
    if faults:
        raise Unreadable("; ".join(f"{fault.field} {fault.message}" for fault in faults.details))


def serve(testee: Testee, requests: BinaryIO, answers: BinaryIO) -> None:
    """Answers requests until there are no more."""
    while head := requests.read(4):
        (length,) = struct.unpack("<I", head)
        body = testee.answer(requests.read(length))
        answers.write(struct.pack("<I", len(body)) + body)
        answers.flush()


def main() -> None:
    files = descriptor_pb2.FileDescriptorSet.FromString(Path(sys.argv[1]).read_bytes())
    for file in files.file:
        POOL.AddSerializedFile(file.SerializeToString())
    serve(Testee(), sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()
